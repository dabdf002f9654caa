//! Other scenes in the place of the one that is shown.

use std::{mem, path::PathBuf, sync::Arc};

use super::{News, Session, Step};
use crate::{
    live::{
        loader::{Loaded, Why},
        materials::{Listed, Materials, listed, turned},
        orbit::Orbit,
        orders::Command,
        study::Study,
    },
    renderer::Renderer,
    scene::Scene,
    trees::Trees,
};

impl Session {
    /// Reads a scene or a model, and shows it once it is there: `Told::Loaded`.
    pub(crate) fn open_file(&self, path: PathBuf) -> String {
        let name = path.display().to_string();
        match &self.loader {
            Some(loader) => {
                loader.open(path);
                format!("reading {name}")
            }
            None => format!("{name}: not read: the system has no thread left for it"),
        }
    }

    /// Does what follows from it, and says what a user would else not see.
    pub(crate) fn hear(&mut self, news: News) -> Option<String> {
        match news {
            News::Loaded(loaded) => self.show(*loaded),
            News::Trouble(trouble) => {
                self.trouble = Some(trouble);
                None
            }
            News::Focus(point) => {
                self.remember_apart();
                let focused = self.orbit.focus_on(point);
                self.render_view();
                focused.map(|metres| format!("focus at {metres:.3} m"))
            }
            News::Ask(question) => self.ask(question),
        }
    }

    /// Whether keys fly it and hands look around.
    pub(crate) fn is_flying(&self) -> bool {
        self.flying
    }

    /// Goes on with a scene that has been read. What the hand has set stays as it is, unless it is another file's; and what
    /// the file says otherwise than before is taken.
    fn show(&mut self, loaded: Loaded) -> Option<String> {
        let Loaded {
            read,
            scene,
            renderer,
            why,
        } = loaded;
        let replaced = renderer.is_some();
        if let Some((renderer, trees)) = renderer {
            self.study_anew(scene.clone(), trees);
            self.put_on(renderer, &scene);
        }
        if why == Why::Turned {
            self.render_view();
            return None;
        }
        let opened = why == Why::Opened;
        // With what has been turned while it was read.
        let turned = turned(&self.materials.read, &self.scene);
        let before = mem::replace(&mut self.scene, scene.clone());
        self.trouble = None;
        self.materials = Materials::new(read);
        if scene.material_names != before.material_names {
            self.past.retain(|step| matches!(step, Step::View(_)));
        }
        let seen = self.orbit.camera(self.size);
        if opened {
            self.orbit = Orbit::new(scene.camera, scene.size);
            self.past.clear();
        } else {
            self.orbit.set_home(scene.camera, scene.size);
        }
        if opened || scene.exposure_stops != before.exposure_stops {
            self.look.exposure_stops = scene.exposure_stops;
        }
        if opened || scene.tone != before.tone {
            self.look.tone = scene.tone;
        }
        if opened || scene.size != before.size {
            self.size = scene.size;
        }
        if replaced || seen != self.orbit.camera(self.size) {
            self.render_view();
        } else {
            self.measure();
        }
        if !opened {
            self.turn_again(&turned);
        }
        let but = match self.materials.turned(&self.scene).is_empty() {
            true => "",
            false => ", but for the materials that were turned",
        };
        replaced.then(|| format!("{} is as its file is now{but}", scene.path.display()))
    }

    fn study_anew(&mut self, scene: Arc<Scene>, trees: Arc<Trees>) {
        self.study = Arc::new(Study::new(scene, Some(trees)));
        self.inspection.set_scene(self.study.clone());
    }

    fn put_on(&self, mut renderer: Box<Renderer>, scene: &Scene) {
        // What it cannot sieve by it says itself.
        let _ = renderer.set_strategy(self.strategy);
        self.render.send(Command::Renderer(renderer, scene.spp));
    }

    /// Its materials, as a page lists them.
    pub(crate) fn listed_materials(&self) -> impl Iterator<Item = Listed<'_>> {
        listed(&self.scene)
    }

    /// Which of them keys turn, by its place in the scene.
    pub(crate) fn chosen_material(&self) -> Option<usize> {
        self.materials.chosen()
    }

    /// The scene that is shown.
    pub(crate) fn scene(&self) -> &Arc<Scene> {
        &self.scene
    }

    /// Why the scene's files cannot be rendered as they are now.
    pub(crate) fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }
}
