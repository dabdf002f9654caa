//! `raysieve farm`: a render in parts, on the machines of Slurm or Kubernetes.
//!
//! A part is a render of some `--samples` whose checkpoint is its picture, and the end of it all is `merge`: whatever the
//! engine does to the jobs, a file holds samples of this very render or is refused.

mod folder;
mod kubernetes;
mod plan;
mod scripts;
mod slurm;
mod status;

use rayon::prelude::*;
use raysieve::{Error, output, part::Part};

use self::{
    folder::{Array, Folder, Jobs},
    plan::Plan,
    scripts::Script,
    status::Survey,
};
use crate::{
    Ending,
    cli::{Engine, Farm},
    headless::telling,
    note, say,
    signals::Signals,
};

/// Submits the render, or what is missing of it; or follows it, or prints what would be submitted.
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
    output::check_place(&folder.picture)?;
    if let Some(claim) = plan.finished(&folder.picture) {
        return status::tell(&folder, &claim).map(|()| Ending::Done);
    }
    match plan.engine {
        Engine::Kubernetes => {
            check_parts(&plan, &folder)?;
            folder.write(&plan, &scripts)?;
            let mut texts = scripts.iter().map(|script| &script.text);
            texts.try_for_each(|text| say(text)).map(|()| Ending::Done)
        }
        Engine::Slurm => {
            let Some(_alone) = folder.lock()? else {
                return Err(folder.refused(&format!(
                    "is being submitted by another raysieve just now; follow it by {} --status",
                    folder.command()
                )));
            };
            slurm::check_idle(&folder)?;
            let missing = check_parts(&plan, &folder)?;
            folder.write(&plan, &scripts)?;
            submit(&plan, &folder, &missing)
        }
    }
}

/// What is asked for, if it is what is there.
fn plan(arguments: &Farm, folder: &Folder) -> Result<Plan, Error> {
    let path = folder.path().display();
    match (&arguments.scene, folder.plan()?) {
        (Some(_), None) if arguments.status => Err(Error::Usage(format!(
            "there is no {path} to follow: nothing was submitted; leave out --status to do that"
        ))),
        (Some(scene), stored) => {
            let plan = Plan::new(arguments, scene)?;
            match stored.and_then(|stored| plan.difference(&stored)) {
                None => Ok(plan),
                Some(difference) => Err(folder.refused(&format!(
                    "is of another render: this one {difference}; name another picture, or move the folder away"
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
            "there is no {path} to go on with: name the SCENE to render; see raysieve farm --help"
        ))),
    }
}

fn scripts(plan: &Plan, folder: &Folder) -> Result<Vec<Script>, Error> {
    match &plan.container {
        None => scripts::for_slurm(plan, folder),
        Some(container) => Ok(vec![Script {
            name: "manifest.yaml".to_owned(),
            text: kubernetes::manifest(plan, folder, container)?,
        }]),
    }
}

fn print(folder: &Folder, scripts: &[Script]) -> Result<(), Error> {
    for Script { name, text } in scripts {
        let path = folder.path().join(name);
        match scripts {
            // What is piped into kubectl.
            [_] => say(text)?,
            _ => say(&format!("# ==> {} <==\n{text}\n", path.display()))?,
        }
    }
    Ok(())
}

/// The parts to render; `Err` if a file is in the way that is none.
fn check_parts(plan: &Plan, folder: &Folder) -> Result<Vec<u32>, Error> {
    let mut survey = Survey::new(plan);
    survey.look(plan, folder);
    if let Some(problem) = survey.wrong() {
        return Err(folder.refused(problem));
    }
    let missing = survey.missing();
    let begun_before = folder.jobs()?.is_some();
    if missing.is_empty() && begun_before {
        // Their merge has failed, perhaps for what is wrong within one.
        let what = format!("reading the parts in {}", folder.path().display());
        return Ok(telling(what, || damaged(plan, folder)));
    }
    Ok(missing)
}

/// Parts whose film is not as it was written.
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

fn submit(plan: &Plan, folder: &Folder, missing: &[u32]) -> Result<Ending, Error> {
    let Some(jobs) = slurm::submit(plan, folder, missing, &Signals::watch()?)? else {
        note("raysieve: interrupted; what was submitted is withdrawn");
        return Ok(Ending::Interrupted);
    };
    let Jobs { parts, merges } = &jobs;
    if !parts.is_empty() {
        let (missing, all) = (missing.len(), plan.parts);
        say(&format!("{missing} of {all} parts: {}\n", words(parts)))?;
    }
    say(&format!("merge: {}\n", words(merges.iter().flatten())))?;
    say(&format!("follow them: {} --status\n", folder.command())).map(|()| Ending::Done)
}

/// `job 12`, or `jobs 12, 13`.
fn words<'a>(arrays: impl IntoIterator<Item = &'a Array>) -> String {
    let jobs: Vec<&str> = arrays.into_iter().map(|array| array.job.as_str()).collect();
    let word = if jobs.len() == 1 { "job" } else { "jobs" };
    format!("{word} {}", jobs.join(", "))
}
