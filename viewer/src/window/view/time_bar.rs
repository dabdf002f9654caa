//! The bar below the picture with the time of the animation.

use egui::{ComboBox, Slider, Ui, UiBuilder};

use super::{Request, View, menu::choice, to_rect};
use crate::{
    overlay::canvas::Area,
    session::{Action, Animation, Change, Session},
    window::layout::Placement,
};

/// Height of the bar in points.
pub(in crate::window) const HEIGHT: f32 = 26.0;

/// Minimum size of a window with the bar, in points.
const MIN_SIZE: [f32; 2] = [150.0, 130.0];

/// Minimum length of the line of time in points, for which texts are omitted.
const MIN_LINE: f32 = 80.0;

impl View {
    /// Displays the bar at the lower edge of the window, if the scene has animations and there is room. Returns its height
    /// in physical pixels; 0 without the bar.
    pub(super) fn show_time_bar(
        &mut self,
        ui: &mut Ui,
        window: Area,
        session: &mut Session,
    ) -> i32 {
        let scale = ui.pixels_per_point();
        let room = to_rect(window, scale).size();
        let is_wanted = self.settings.statistics != Placement::Off && self.frame.is_some();
        let animation = session.animation().filter(|_| is_wanted);
        let Some(animation) = animation.filter(|_| room.x >= MIN_SIZE[0] && room.y >= MIN_SIZE[1])
        else {
            return 0;
        };
        let height = (HEIGHT * scale).round() as i32;
        let area = window.rows(window.height - height, height);
        let rect = to_rect(area, scale).shrink2(egui::vec2(9.0, 4.0));
        let builder = UiBuilder::new().id_salt("time bar").max_rect(rect);
        ui.scope_builder(builder, |ui| {
            ui.horizontal_centered(|ui| self.bar(ui, &animation, session));
        });
        height
    }

    /// Adds the widgets of the bar: play or pause, the animation, the time, and its text, as far as there is room.
    fn bar(&mut self, ui: &mut Ui, animation: &Animation, session: &mut Session) {
        let (label, help) = match animation.playing {
            true => ("Pause", "pause the animation (P)"),
            false => ("Play", "play the animation (P)"),
        };
        if ui.button(label).on_hover_text(help).clicked() {
            let play = Action::Render(Change::PlayAnimation);
            self.requests.push(Request::Act(play));
        }
        let (animations, chosen) = session.animations();
        if animations.len() > 1 && ui.available_width() > 3.0 * MIN_LINE {
            let name = chosen.and_then(|chosen| animations.get(chosen));
            let list = ComboBox::from_id_salt("animation")
                .selected_text(name.map_or("all animations", String::as_str))
                .truncate();
            let named = animations.iter().enumerate();
            let named = named.map(|(index, name)| (Some(index), name.as_str()));
            let all = [(None, "all animations")].into_iter().chain(named);
            let (_, new) = choice(ui, list, all, &chosen);
            if let Some(new) = new {
                // The list contains only animations of the file.
                let _ = session.choose_animation(new);
            }
        }
        let text = animation.text();
        let width = 7.0 * text.chars().count() as f32 + 20.0;
        let has_text = ui.available_width() - width >= MIN_LINE;
        let taken = if has_text { width } else { 0.0 };
        ui.spacing_mut().slider_width = (ui.available_width() - taken).max(20.0);
        let mut time = animation.time.unwrap_or(0.0);
        let slider = Slider::new(&mut time, 0.0..=animation.seconds)
            .show_value(false)
            .smart_aim(false);
        let slider = ui.add(slider);
        slider.widget_info(|| {
            egui::WidgetInfo::slider(true, time, "time of the animation in seconds")
        });
        if slider.changed() {
            session.seek(time);
        }
        if has_text {
            ui.label(text);
        }
    }
}
