//! The menu, through which the mouse and screen readers reach everything that keys do, and lists to choose from.

use egui::{
    Button, ComboBox, FocusDirection, Id, Key, Response, ScrollArea, Ui, WidgetText,
    containers::menu::{MenuState, SubMenu, SubMenuButton},
};

use super::Request;
use crate::session::{self, Action, Control, HELP, ScreenAction};

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
pub(in crate::window) fn tool(ui: &mut Ui, label: &str, action: Action) -> bool {
    let button = ui.button(label);
    button.on_hover_text(session::tooltip(action)).clicked()
}

/// Adds a list of values with their names. Returns its button and the value that the user selects.
pub(in crate::window) fn choice<T: PartialEq>(
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
