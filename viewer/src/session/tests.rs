//! Tests of whole sessions on the CPU.

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, channel},
    },
    time::Duration,
};

use compaction::select::Strategy;

use super::{
    Change, Comparison, DisplayFrame, Message, RenderEvent, Session, State, ViewOptions,
    strategy_comparison::Method,
};
use raysieve::{
    film::FilmSums,
    inspect::debug_view::DebugView,
    render::{
        output::Look,
        renderer::{BackendChoice, Renderer, Settings},
    },
};
use raysieve_scene::{LoadOptions, Scene, SettingOverrides};

/// Text of the scene, which has materials to edit.
const SCENE: &str = r#"(
    size: (48, 32), spp: 16, max_bounces: 3,
    camera: (origin: (0, 1, 5), target: (0, 0.5, 0), fov: 40),
    sky: (0.4, 0.5, 0.6),
    materials: { "red": Diffuse(albedo: (0.7, 0.2, 0.1)), "white": Diffuse(albedo: (0.7, 0.7, 0.7)) },
    objects: [
        Sphere(center: (-0.6, 0.8, 0), radius: 0.8, material: "red"),
        Quad(corner: (-3, 0, 3), edge_u: (6, 0, 0), edge_v: (0, 0, -6), material: "white"),
    ],
)"#;

/// A session with its events.
struct Fixture {
    session: Session,
    events: Receiver<RenderEvent>,
    /// Messages and problems since the last call of [`Fixture::until`].
    messages: Vec<Message>,
    _folder: tempfile::TempDir,
}

impl Fixture {
    /// Starts a session of the scene with this number of samples per pixel.
    fn start(spp: u32, denoise: bool) -> Self {
        Self::start_to_noise(spp, denoise, None)
    }

    /// Starts a session that ends at a pixel at this target error, if there is one.
    fn start_to_noise(spp: u32, denoise: bool, noise: Option<f32>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("scene.ron");
        std::fs::write(&path, SCENE).expect("a file");
        let changes = SettingOverrides {
            spp: Some(spp),
            ..SettingOverrides::default()
        };
        let mut scene = Scene::load(&path).expect("the scene");
        scene.apply_overrides(&changes).expect("the overrides");
        let settings = Settings {
            backend: BackendChoice::Cpu,
            ..Settings::default()
        };
        let mut renderer = Renderer::new(&scene, &settings).expect("a renderer");
        if noise.is_some() {
            renderer.set_noise(noise).expect("a target");
        }
        let options = ViewOptions {
            look: Look {
                denoise,
                ..Look::default()
            },
            debug_view: DebugView::Light,
            oidn: None,
            compared: None,
            strategy: Strategy::default(),
            changes,
            load: LoadOptions::default(),
            noise,
            watches: false,
        };
        let (sender, events) = channel();
        let on_event = move |event| drop(sender.send(event));
        let session = Session::start(
            Box::new(renderer),
            &Arc::new(scene),
            options,
            Duration::from_millis(1),
            on_event,
        );
        Self {
            session: session.map_err(|(_, error)| error).expect("a session"),
            events,
            messages: Vec::new(),
            _folder: folder,
        }
    }

    /// Waits for a frame that `is_wanted` accepts, and returns it.
    fn until(&mut self, is_wanted: impl Fn(&DisplayFrame) -> bool) -> DisplayFrame {
        self.messages.clear();
        loop {
            let event = self.events.recv_timeout(Duration::from_secs(300));
            match event.expect("a frame that is wanted") {
                RenderEvent::Frame => {
                    let frame = self.session.take_frame();
                    if let Some(frame) = frame.filter(&is_wanted) {
                        return frame;
                    }
                }
                RenderEvent::Session(event) => {
                    self.messages.extend(self.session.handle_event(event));
                }
                RenderEvent::Message(message) | RenderEvent::Problem(message) => {
                    self.messages.push(message);
                }
                RenderEvent::Ended => panic!("the render has ended: {:?}", self.messages),
                _ => {}
            }
        }
    }

    /// Waits until the render is complete, and returns the last frame.
    fn until_done(&mut self) -> DisplayFrame {
        self.until(|frame| frame.state == State::Done)
    }

    /// Changes a number of a material, and waits until the edited scene is complete.
    fn edit(&mut self) -> DisplayFrame {
        let before = Arc::as_ptr(&self.session.scene);
        self.session.act(Change::NextPart);
        self.session.act(Change::Decrease);
        let edited = self.session.scene.clone();
        assert_ne!(Arc::as_ptr(&edited), before, "nothing was edited");
        self.until(|frame| frame.state == State::Done && *frame.scene() == *edited)
    }

    /// Returns the sums of the film.
    fn film(&self) -> FilmSums {
        let film = self.session.request_film();
        film.0.recv().expect("the film").part.film
    }
}

#[test]
fn the_denoised_preview_continues_after_an_edit() {
    let mut fixture = Fixture::start(16, true);
    assert!(fixture.until_done().preview.is_some());
    assert!(fixture.edit().preview.is_some());
}

#[test]
fn added_samples_are_kept_after_an_edit() {
    let mut fixture = Fixture::start(4, false);
    fixture.until_done();
    fixture.session.act(Change::MoreSamples);
    let frame = fixture.until(|frame| frame.state == State::Done && frame.stats.spp == 8);
    assert_eq!(frame.stats.spp, 8);
    assert_eq!(fixture.edit().stats.spp, 8);
}

#[test]
fn figures_belong_to_the_selected_strategy() {
    let mut fixture = Fixture::start(16, false);
    let before = fixture.until_done();
    assert!(before.recent.is_measured && before.recent.lane_use > 0.0);
    fixture.session.set_strategy(Strategy::Off);
    let after = fixture.until(|frame| frame.stats.compaction == "off");
    assert!(!after.recent.is_measured && after.recent.is_mixed);
    assert_eq!(after.recent.lane_use, 0.0);
    let times = after
        .recent
        .bounces
        .iter()
        .map(|bounce| bounce.times.total());
    assert_eq!(times.sum::<f64>(), 0.0);
    let removed = after.recent.bounces.iter().map(|bounce| bounce.removed);
    assert_eq!(removed.sum::<f64>(), 0.0);
}

#[test]
fn the_comparison_lists_all_strategies_and_restores_the_film() {
    let mut fixture = Fixture::start(64, true);
    let before = fixture.until_done();
    let film = fixture.film();
    fixture.session.act(Change::CompareStrategies);
    fixture.until(|frame| frame.state == State::Comparing);
    fixture.session.act(Change::Pause);
    let paused = |frame: &DisplayFrame| {
        let comparing = frame.recent.comparing;
        comparing.is_some_and(|comparing| comparing.paused)
    };
    fixture.until(paused);
    // Also while the film is set aside.
    assert_eq!(fixture.film(), film);
    fixture.session.act(Change::Pause);
    let after = fixture.until_done();
    assert_eq!(fixture.film(), film);
    assert_eq!(after.picture, before.picture);
    assert!(after.preview.is_some(), "the preview is kept");
    assert_eq!(after.stats.compaction, before.stats.compaction);
    let names: Vec<&str> = after
        .recent
        .strategies
        .iter()
        .map(|row| row.strategy.as_str())
        .collect();
    let all: Vec<&str> = Method::all().into_iter().map(Method::name).collect();
    assert_eq!(names, all);
    for row in &after.recent.strategies {
        assert_ne!(row.comparison, Comparison::NotEnoughData, "{row:?}");
        assert_eq!(row.is_current, row.strategy == after.stats.compaction);
    }
    assert!(after.recent.bounces[0].saved_us.is_some());

    // Figures of a compared strategy are known even if it has not rendered the film.
    fixture.session.set_strategy(Strategy::Off);
    let off = fixture.until(|frame| frame.stats.compaction == "off");
    assert!(off.recent.is_measured && off.recent.lane_use > 0.0);

    // The comparison belongs to the view.
    let edited = fixture.edit();
    assert!(edited.recent.strategies.is_empty());
}

#[test]
fn a_render_continues_after_a_comparison_that_is_stopped() {
    let mut whole = Fixture::start(256, false);
    whole.until_done();
    let expected = whole.film();
    let mut fixture = Fixture::start(256, false);
    fixture.session.act(Change::CompareStrategies);
    fixture.until(|frame| frame.state == State::Comparing);
    fixture.session.act(Change::CompareStrategies);
    let done = fixture.until_done();
    assert_eq!(done.stats.spp, 256);
    assert_eq!(fixture.film(), expected);
}

#[test]
fn an_adaptive_render_is_restored_after_a_comparison() {
    let mut fixture = Fixture::start_to_noise(512, false, Some(0.05));
    let before = fixture.until_done();
    let film = fixture.film();
    fixture.session.act(Change::CompareStrategies);
    fixture.until(|frame| frame.state == State::Comparing);
    let after = fixture.until_done();
    assert_eq!(fixture.film(), film);
    assert_eq!(after.stats.noise, before.stats.noise);
    let compared = after.recent.strategies.len();
    assert_eq!(compared, Method::all().len());
}
