//! `raysieve farm`: renders a scene in parts on the machines of a Slurm or Kubernetes cluster.
//!
//! A part is a render with `--samples` whose checkpoint and image are the same file. `merge` adds the parts up, and
//! refuses files of other renders. So jobs can be killed and repeated at any time without changing the result.

mod folder;
mod kubernetes;
mod plan;
mod scripts;
mod slurm;
mod status;

use std::fs;

use crate::error::Error;
use rayon::prelude::*;
use raysieve::render::part::Part;
use raysieve_scene::atomic_file;

use self::{
    folder::{Array, Folder, Jobs, Script},
    plan::Plan,
    status::Survey,
};
use crate::{
    Ending,
    arguments::{Engine, Farm},
    note, print_result,
    progress::with_progress_line,
    signals::Signals,
};

/// Runs `raysieve farm`: submits the missing parts of the render to Slurm. For Kubernetes, writes the folder and prints
/// the manifest instead.
///
/// With `--status`, shows the progress until the farm ends. With `--dry-run`, only prints the scripts. If the image is
/// complete, prints its samples and film hash and submits nothing.
///
/// Returns [`Ending::Interrupted`] if a signal cancelled the submission, and otherwise [`Ending::Done`].
pub(crate) fn farm(arguments: &Farm) -> Result<Ending, Error> {
    let folder = Folder::beside(&arguments.output);
    let plan = plan(arguments, &folder)?;
    if arguments.status {
        return status::follow(&plan, &folder).map(|()| Ending::Done);
    }
    let scripts = scripts(&plan, &folder)?;
    if arguments.dry_run {
        return print(&folder, &scripts).map(|()| Ending::Done);
    }
    atomic_file::check_place(&folder.picture)?;
    if let Some(header) = plan.complete_image(&folder.picture) {
        return status::print_finished(&folder, &header).map(|()| Ending::Done);
    }
    match plan.engine {
        Engine::Kubernetes => {
            check_parts(&plan, &folder)?;
            folder.write(&plan, &scripts)?;
            let mut texts = scripts.iter().map(|script| &script.text);
            texts
                .try_for_each(|text| print_result(text))
                .map(|()| Ending::Done)
        }
        Engine::Slurm => {
            let is_new = fs::symlink_metadata(folder.path()).is_err();
            let Some(_alone) = folder.lock()? else {
                return Err(folder.error(&format!(
                    "is being submitted by another raysieve process; show its progress with {} --status",
                    folder.command()
                )));
            };
            let submitted = slurm::check_idle(&folder)
                .and_then(|()| check_parts(&plan, &folder))
                .and_then(|missing| {
                    folder.write(&plan, &scripts)?;
                    submit(&plan, &folder, &missing)
                });
            // Without a job, nothing refers to the folder of a failed submission.
            if submitted.is_err() && is_new && matches!(folder.jobs(), Ok(None)) {
                folder.remove();
            }
            submitted
        }
    }
}

/// Returns the plan of the command line or, without a scene, the plan that is stored in the folder.
///
/// # Errors
/// If the folder contains another render than the command line asks for, or if there is neither a scene nor a stored
/// plan. Also with a scene and `--status` before the first submission.
///
/// Without a scene and `--status`, also if the scene of the stored plan or the version of the program has changed.
fn plan(arguments: &Farm, folder: &Folder) -> Result<Plan, Error> {
    let path = folder.path().display();
    match (&arguments.scene, folder.plan()?) {
        (Some(_), None) if arguments.status => Err(Error::Usage(format!(
            "{path} does not exist: nothing was submitted; omit --status to submit the render"
        ))),
        (Some(scene), stored) => {
            let plan = Plan::new(arguments, scene)?;
            match stored.and_then(|stored| plan.difference(&stored)) {
                None => Ok(plan),
                Some(difference) => Err(folder.error(&format!(
                    "contains another render: this one {difference}; name another image, or move the folder away"
                ))),
            }
        }
        (None, Some(stored)) => {
            if !arguments.status {
                stored.check_scene()?;
            }
            Ok(stored)
        }
        (None, None) => Err(Error::Usage(format!(
            "{path} does not exist, so there is nothing to continue: name the SCENE to render; see raysieve farm --help"
        ))),
    }
}

/// Returns the job scripts for Slurm, or the manifest for Kubernetes as the only script.
///
/// # Errors
/// If a path cannot be written into scripts: see [`plan::script_text`] and [`kubernetes::manifest`].
fn scripts(plan: &Plan, folder: &Folder) -> Result<Vec<Script>, Error> {
    match &plan.container {
        None => scripts::for_slurm(plan, folder),
        Some(container) => Ok(vec![Script {
            name: "manifest.yaml".to_owned(),
            text: kubernetes::manifest(plan, folder, container)?,
        }]),
    }
}

/// Prints the scripts to standard output. If there are several, a line with its path precedes each script.
fn print(folder: &Folder, scripts: &[Script]) -> Result<(), Error> {
    for Script { name, text } in scripts {
        let path = folder.path().join(name);
        match scripts {
            // A single script is a manifest, which is piped into kubectl.
            [_] => print_result(text)?,
            _ => print_result(&format!("# ==> {} <==\n{text}\n", path.display()))?,
        }
    }
    Ok(())
}

/// Returns the numbers of the parts to render, counted from 0. These are the parts whose file is missing, has a damaged
/// header, or has a header that lists only some of the part's samples.
///
/// If there are none, but jobs were submitted before, a merge has probably failed. Then reads all files completely,
/// prints an error for each damaged one, and returns the damaged parts.
///
/// # Errors
/// [`Error::File`] if the file of a part belongs to another render or another part, or cannot be read. Also if
/// `jobs.json` is damaged.
fn check_parts(plan: &Plan, folder: &Folder) -> Result<Vec<u32>, Error> {
    let mut survey = Survey::new(plan);
    survey.update(plan, folder);
    if let Some(problem) = survey.invalid() {
        return Err(folder.error(problem));
    }
    let missing = survey.missing();
    let submitted_before = folder.jobs()?.is_some();
    if missing.is_empty() && submitted_before {
        // The merge has failed, perhaps because of a damaged part, whose header can still be valid.
        let what = format!("reading the parts in {}", folder.path().display());
        return Ok(with_progress_line(what, || damaged(plan, folder)));
    }
    Ok(missing)
}

/// Reads the files of all parts completely, in parallel. Prints an error for each file that cannot be read or is
/// damaged, and returns the numbers of these parts, counted from 0.
fn damaged(plan: &Plan, folder: &Folder) -> Vec<u32> {
    let is_damaged = |&part: &u32| {
        let file = folder.part(part);
        let problem = Part::read(&file).err();
        problem
            .inspect(|problem| note(&problem.to_string()))
            .is_some()
    };
    (0..plan.parts).into_par_iter().filter(is_damaged).collect()
}

/// Submits the parts `missing` and the merges of all levels to Slurm, and prints the job IDs. The numbers in `missing`
/// are ascending and counted from 0. If it is empty, submits only the merges.
///
/// After a signal or an error during the submission, cancels the jobs that this call has submitted. Returns
/// [`Ending::Interrupted`] after a signal.
fn submit(plan: &Plan, folder: &Folder, missing: &[u32]) -> Result<Ending, Error> {
    let Some(jobs) = slurm::submit(plan, folder, missing, &Signals::watch()?)? else {
        note("raysieve: interrupted; the submitted jobs are cancelled");
        return Ok(Ending::Interrupted);
    };
    let Jobs { parts, merges } = &jobs;
    if !parts.is_empty() {
        let (missing, all) = (missing.len(), plan.parts);
        print_result(&format!("{missing} of {all} parts: {}\n", job_list(parts)))?;
    }
    print_result(&format!("merge: {}\n", job_list(merges.iter().flatten())))?;
    print_result(&format!("progress: {} --status\n", folder.command())).map(|()| Ending::Done)
}

/// Returns the Slurm job IDs of the arrays as text, such as `job 12` or `jobs 12, 13`.
fn job_list<'a>(arrays: impl IntoIterator<Item = &'a Array>) -> String {
    let jobs: Vec<&str> = arrays.into_iter().map(|array| array.job.as_str()).collect();
    let word = if jobs.len() == 1 { "job" } else { "jobs" };
    format!("{word} {}", jobs.join(", "))
}
