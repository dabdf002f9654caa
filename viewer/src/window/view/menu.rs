//! The menu, through which the mouse and screen readers reach everything that keys do.

use egui::{Button, ScrollArea, Ui, containers::menu::SubMenuButton};

use super::Request;
use crate::session::{Action, CONTROLS, ScreenAction};

/// Adds the button of the menu. Its submenus are the groups of the list of keys.
pub(super) fn show(ui: &mut Ui, requests: &mut Vec<Request>) {
    let button = ui.menu_button("Menu", |ui| {
        let mut controls = CONTROLS.iter().peekable();
        while let Some(first) = controls.next() {
            let mut group = vec![first];
            while let Some(next) = controls.next_if(|control| control.heading.is_none()) {
                group.push(next);
            }
            // The font lacks the arrow of egui.
            let heading = Button::new(first.heading.unwrap_or_default()).right_text("▸");
            SubMenuButton::from_button(heading).ui(ui, |ui| {
                let height = ui.ctx().content_rect().height() - 20.0;
                ScrollArea::vertical().max_height(height).show(ui, |ui| {
                    ui.set_min_width(200.0);
                    for control in group {
                        let mut known: Vec<Action> = Vec::new();
                        let first = control.keys.first().map(|(_, action)| *action);
                        let is_single = control.keys.iter().all(|(_, other)| Some(*other) == first);
                        for (key, action) in control.keys {
                            // Flying needs a key that is held.
                            if known.contains(action) || matches!(action, Action::Fly(_)) {
                                continue;
                            }
                            known.push(*action);
                            let text = match is_single {
                                true => control.description.to_owned(),
                                false => name(*action),
                            };
                            let item = Button::new(text).shortcut_text(*key);
                            if ui.add(item).clicked() {
                                requests.push(Request::Act(*action));
                                ui.close();
                            }
                        }
                    }
                });
            });
        }
    });
    let text = "all actions, as in the list of keys (?)";
    if button.response.on_hover_text(text).secondary_clicked() {
        requests.push(Request::Act(Action::Screen(ScreenAction::Keys)));
    }
}

/// Returns the name of an action in words, such as `next debug view`.
fn name(action: Action) -> String {
    let value = match action {
        Action::Render(change) => serde_json::to_value(change),
        Action::Screen(screen) => serde_json::to_value(screen),
        Action::Fly(direction) => serde_json::to_value(direction),
    };
    let value = value.unwrap_or_default();
    value.as_str().unwrap_or_default().replace('-', " ")
}
