//! The menu, through which the mouse and screen readers reach everything that keys do, lists to choose from, and the list
//! of keys and of the words of the figures.

use egui::{
    Align2, Button, ComboBox, Context, FocusDirection, Grid, Id, Key, Response, RichText,
    ScrollArea, Ui, WidgetText, Window,
    containers::menu::{MenuState, SubMenu, SubMenuButton},
};

use super::Request;
use crate::{
    overlay::colors::{ACCENT, BRIGHT},
    session::{self, Action, Control, HELP, ScreenAction},
    window::theme::color,
};

/// Adds the button of the menu. Its submenus are the groups of the list of keys.
pub(super) fn show(ui: &mut Ui, requests: &mut Vec<Request>) {
    let button = ui.menu_button("Menu", |ui| {
        let mut headings = Vec::new();
        let mut open = None;
        for group in HELP.controls.chunk_by(|_, next| next.heading.is_none()) {
            let heading = group.first().and_then(|control| control.heading);
            // The font lacks the arrow of egui.
            let heading = Button::new(heading.unwrap_or_default()).right_text("▸");
            let (heading, items) = SubMenuButton::from_button(heading).ui(ui, |ui| {
                let height = ui.ctx().content_rect().height() - 20.0;
                let scroll = ScrollArea::vertical().max_height(height);
                scroll.show(ui, |ui| submenu(ui, group, requests)).inner
            });
            headings.push(heading.id);
            open = items.map(|items| (heading.id, items.inner)).or(open);
        }
        follow_arrows_between(ui, &headings, open);
    });
    let text = "all actions, as in the list of keys (?)";
    if button.response.on_hover_text(text).secondary_clicked() {
        requests.push(Request::Act(Action::Screen(ScreenAction::Keys)));
    }
}

/// Adds the actions of a group of controls. Returns the identifiers of their buttons.
fn submenu(ui: &mut Ui, group: &[Control], requests: &mut Vec<Request>) -> Vec<Id> {
    ui.set_min_width(200.0);
    let mut items = Vec::new();
    for control in group {
        let mut known: Vec<Action> = Vec::new();
        let first = control.keys.first().map(|(_, action)| *action);
        let is_single = control.keys.iter().all(|(_, other)| Some(*other) == first);
        for (key, action) in &control.keys {
            // Flying needs a key that is held.
            if known.contains(action) || matches!(action, Action::Fly(_)) {
                continue;
            }
            known.push(*action);
            let text = match is_single {
                true => control.description.to_owned(),
                false => name(*action),
            };
            let item = ui.add(Button::new(text).shortcut_text(*key));
            if item.gained_focus() {
                item.scroll_to_me(None);
            }
            items.push(item.id);
            if item.clicked() {
                requests.push(Request::Act(*action));
                ui.close();
            }
        }
    }
    items
}

/// Lets the arrow keys move the keyboard focus within the menu: up and down among the `headings` or the items of the
/// open submenu. The right one opens the submenu of a heading and then moves into it, and the left one moves back. `open`
/// has the heading and the items of the open submenu.
fn follow_arrows_between(ui: &Ui, headings: &[Id], open: Option<(Id, Vec<Id>)>) {
    let focused = ui.memory(|memory| memory.focused());
    let is_pressed = |key| ui.input(|input| input.key_pressed(key));
    let inside = open
        .as_ref()
        .filter(|(_, items)| focused.is_some_and(|id| items.contains(&id)));
    if let Some((heading, items)) = inside {
        follow_arrows(ui, items);
        if is_pressed(Key::ArrowLeft) {
            ui.memory_mut(|memory| memory.request_focus(*heading));
        }
        return;
    }
    follow_arrows(ui, headings);
    let Some(heading) = focused.filter(|id| headings.contains(id) && is_pressed(Key::ArrowRight))
    else {
        return;
    };
    match open.filter(|(of, _)| *of == heading) {
        Some((_, items)) => {
            let first = items.first().copied();
            ui.memory_mut(|memory| memory.request_focus(first.unwrap_or(heading)));
        }
        None => {
            let submenu = SubMenu::id_from_widget_id(heading);
            MenuState::mark_shown(ui.ctx(), submenu);
            MenuState::from_ui(ui, |state, _| state.open_item = Some(submenu));
            ui.request_repaint();
        }
    }
}

/// Lets the arrow keys up and down move the keyboard focus among the items of an open menu or list, cyclically. Otherwise
/// all arrow keys would move it to the nearest widget, which may be outside.
fn follow_arrows(ui: &Ui, items: &[Id]) {
    let keys = [
        Key::ArrowUp,
        Key::ArrowDown,
        Key::ArrowLeft,
        Key::ArrowRight,
    ];
    let [up, down, left, right] = keys.map(|key| ui.input(|input| input.num_presses(key) as isize));
    if up + down + left + right == 0 {
        return;
    }
    ui.memory_mut(|memory| {
        memory.move_focus(FocusDirection::None);
        let focused = memory.focused();
        let place = items.iter().position(|item| Some(*item) == focused);
        let to = match place {
            Some(place) => place as isize + down - up,
            None => down.min(1) - 1,
        };
        let item = items.get(to.rem_euclid(items.len().max(1) as isize) as usize);
        if let Some(&item) = item.filter(|_| up != down) {
            memory.request_focus(item);
        }
    });
}

/// Adds a button of an action, with a tooltip. Returns whether it was clicked.
pub(super) fn tool(ui: &mut Ui, label: &str, action: Action) -> bool {
    let button = ui.button(label);
    button.on_hover_text(session::tooltip(action)).clicked()
}

/// Adds a list of values with their names. Returns its button and the value that the user selects.
pub(super) fn choice<T: PartialEq>(
    ui: &mut Ui,
    list: ComboBox,
    values: impl IntoIterator<Item = (T, impl Into<WidgetText>)>,
    selected: &T,
) -> (Response, Option<T>) {
    let mut new = None;
    let shown = list.show_ui(ui, |ui| {
        let mut items = Vec::new();
        for (value, name) in values {
            let item = ui.selectable_label(value == *selected, name.into());
            items.push(item.id);
            if item.clicked() {
                new = Some(value);
            }
        }
        follow_arrows(ui, &items);
    });
    (shown.response, new)
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

#[derive(Default)]
pub(in crate::window) struct KeyList {
    is_open: bool,
    /// Scroll position in points that a key has requested; `None` leaves the position as it is.
    requested: Option<f32>,
    /// Scroll position in points when it was last displayed.
    offset: f32,
    /// Height of the visible part in points when it was last displayed.
    height: f32,
}

/// Distance in points that an arrow key scrolls.
const STEP: f32 = 30.0;

/// Width of the window in points below which keys and descriptions are not side by side.
const NARROW: f32 = 260.0;

/// Height of the window in points below which the list has no title.
const LOW: f32 = 200.0;

/// Minimum width in points of the descriptions of the keys.
const MIN_DESCRIPTION: f32 = 80.0;

impl KeyList {
    /// Displays or hides the list.
    pub(in crate::window) fn switch(&mut self) {
        self.is_open = !self.is_open;
        self.requested = Some(0.0);
    }

    /// Hides the list. Returns whether it was displayed.
    pub(super) fn close(&mut self) -> bool {
        std::mem::take(&mut self.is_open)
    }

    /// Scrolls the list by a key, named as in the table of controls. Returns `false` if the list is hidden, or the key does
    /// not scroll.
    pub(in crate::window) fn scroll(&mut self, chord: &str) -> bool {
        let page = (self.height - STEP).max(STEP);
        let to = match chord {
            "ArrowDown" => self.offset + STEP,
            "ArrowUp" => self.offset - STEP,
            "PageDown" | " " => self.offset + page,
            "PageUp" => self.offset - page,
            "Home" => 0.0,
            _ => return false,
        };
        if self.is_open {
            self.requested = Some(to.max(0.0));
        }
        self.is_open
    }

    /// Displays the list over the middle of the window, unless it is hidden.
    pub(super) fn show(&mut self, context: &Context) {
        if !self.is_open {
            return;
        }
        let room = context.content_rect().size() - egui::vec2(18.0, 18.0);
        let mut is_open = true;
        let window = Window::new("Keys")
            .open(&mut is_open)
            .collapsible(false)
            .resizable(false)
            .title_bar(room.y >= LOW)
            .max_size(room)
            .anchor(Align2::CENTER_CENTER, egui::Vec2::ZERO);
        window.show(context, |ui| {
            ui.set_max_width(room.x - 24.0);
            let mut scroll = ScrollArea::vertical().max_height((room.y - 50.0).max(50.0));
            if let Some(offset) = self.requested.take() {
                scroll = scroll.vertical_scroll_offset(offset);
            }
            let shown = scroll.show(ui, |ui| list(ui, room.x));
            self.offset = shown.state.offset.y;
            self.height = shown.inner_rect.height();
        });
        self.is_open = is_open;
    }
}

/// Adds the keys and words with their descriptions, in groups with headings, to a region of this width in points.
fn list(ui: &mut Ui, width: f32) {
    let controls: Vec<_> = session::controls().collect();
    let groups = controls.chunk_by(|_, next| next.heading.is_none());
    for (number, group) in groups.enumerate() {
        let heading = group.first().and_then(|control| control.heading);
        ui.heading(RichText::new(heading.unwrap_or_default()).color(color(BRIGHT)));
        if width < NARROW {
            for control in group {
                ui.label(RichText::new(control.keys).color(color(ACCENT)));
                ui.add(egui::Label::new(control.effect).wrap());
            }
        } else {
            Grid::new(number).num_columns(2).show(ui, |ui| {
                for control in group {
                    ui.label(RichText::new(control.keys).color(color(ACCENT)));
                    let taken = ui.cursor().left() - ui.min_rect().left();
                    ui.vertical(|ui| {
                        ui.set_max_width((width - taken - 40.0).max(MIN_DESCRIPTION));
                        ui.add(egui::Label::new(control.effect).wrap());
                    });
                    ui.end_row();
                }
            });
        }
        ui.add_space(6.0);
    }
}
