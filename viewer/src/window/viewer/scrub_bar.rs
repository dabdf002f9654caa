//! Input of the scrub bar below the picture, which shows the time of the animation.

use winit::dpi::PhysicalPosition;

use super::{Viewer, pointer::Drag};

impl Viewer {
    /// Handles the press or release of the left button: a press on the bar begins a drag of the time. Returns whether
    /// the button acted on the bar.
    pub(super) fn press_scrub_bar(&mut self, pressed: bool) -> bool {
        if !pressed {
            return self.dragging.take_if(|drag| *drag == Drag::Time).is_some();
        }
        let is_hit = self
            .view
            .scrub_bar()
            .is_some_and(|bar| bar.has(self.cursor.x, self.cursor.y));
        if is_hit {
            self.dragging = Some(Drag::Time);
            self.pressed = None;
            self.seek(self.cursor.x);
        }
        is_hit
    }

    /// Handles a movement of the pointer to a position in physical pixels. Returns whether it drags the time.
    pub(super) fn drag_scrub_bar(&mut self, to: PhysicalPosition<f64>) -> bool {
        let drags = self.dragging == Some(Drag::Time);
        if drags {
            self.cursor = to;
            self.seek(to.x);
        }
        drags
    }

    /// Shows the animation at the time of this column in physical pixels.
    fn seek(&mut self, x: f64) {
        let share = self.view.scrub_bar().map(|bar| bar.share(x));
        let Some((share, animation)) = share.zip(self.session.animation()) else {
            return;
        };
        self.view.withdraw_question();
        if let Some(message) = self.session.seek(share * animation.seconds) {
            self.say(message);
        }
        self.title_time = None;
        self.screen.refresh();
    }
}
