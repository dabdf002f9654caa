//! The editor: a panel with the values of the selected part of the scene, such as a material or a light.

use std::cell::RefCell;

use egui::{
    Align, ComboBox, DragValue, Label, Layout, Response, RichText, ScrollArea, Slider,
    SliderClamping, Ui,
};
use glam::Vec3;

use super::menu::{choice, tool};
use crate::{
    overlay::colors::{ACCENT, WARNING},
    session::{
        Action, Change, Continuity, EditorState, FRACTION, PartInfo, Property, ScreenAction,
        Session, rounded, with_unit,
    },
    window::theme::color,
};
use raysieve_scene::{FieldValue, NumberKind, Part};

/// The state of the editor. It exists also while the editor is hidden.
#[derive(Default)]
pub(in crate::window) struct Editor {
    pub(in crate::window) is_open: bool,
    dragged: Option<(Part, &'static str)>,
    /// Value whose last entry was refused, and the reason, which is displayed until the next input.
    pub(in crate::window) refusal: Option<(Part, &'static str, String)>,
}

const TOOLS: [(&str, Action); 5] = [
    ("Undo", Action::Render(Change::Undo)),
    ("Redo", Action::Render(Change::Redo)),
    ("Save", Action::Render(Change::SaveCamera)),
    ("Save as", Action::Screen(ScreenAction::SaveSceneAs)),
    ("Close", Action::Screen(ScreenAction::Properties)),
];

/// Fraction of the editor's width that labels take.
const LABEL_SHARE: f32 = 0.34;

/// Width of the editor in points below which labels are above their values.
const NARROW: f32 = 280.0;

/// Width in points that the number beside a slider takes.
const NUMBER_WIDTH: f32 = 128.0;

impl Editor {
    /// Shows or hides the editor. Showing it selects the first part if none is selected.
    pub(in crate::window) fn switch(&mut self, session: &mut Session) {
        self.is_open = !self.is_open;
        self.refusal = None;
        if self.is_open && session.editor().selected.is_none() {
            session.choose_part(true);
        }
    }

    /// Hides the editor. Returns whether it was displayed.
    pub(super) fn close(&mut self) -> bool {
        self.refusal = None;
        std::mem::take(&mut self.is_open)
    }

    /// Adds the editor's widgets, and applies what the user does with them. Calls `act` with the action of a button.
    pub(super) fn show(&mut self, ui: &mut Ui, session: &mut Session, mut act: impl FnMut(Action)) {
        if !ui.input(|input| input.pointer.any_down()) {
            self.dragged = None;
        }
        let editor = session.editor();
        self.show_choice(ui, &editor, session);
        ui.horizontal_wrapped(|ui| {
            for (label, action) in TOOLS {
                if tool(ui, label, action) {
                    act(action);
                }
            }
        });
        ui.separator();
        let scroll = ScrollArea::vertical().auto_shrink([false, true]);
        scroll.show(ui, |ui| match editor.selected {
            Some(part) => self.show_properties(ui, part, &editor, session),
            None => {
                ui.label("click on an object in the picture");
            }
        });
    }

    /// Adds the list of parts, with buttons for the previous and the next one.
    fn show_choice(&mut self, ui: &mut Ui, editor: &EditorState, session: &mut Session) {
        ui.horizontal(|ui| {
            let previous = ui.button("<").on_hover_text("previous part (M)");
            describe(ui, &previous, "previous part");
            if previous.clicked() {
                session.choose_part(false);
            }
            let name = editor.name.as_deref().unwrap_or("nothing selected");
            let width = (ui.available_width() - ui.spacing().interact_size.x).max(20.0);
            let list = ComboBox::from_id_salt("part")
                .selected_text(RichText::new(name).color(color(ACCENT)))
                .width(width)
                .truncate();
            let parts = editor.parts.iter();
            let parts = parts.map(|PartInfo { part, name }| (Some(*part), name));
            // A long name leaves room for the button after it.
            let size = egui::vec2(width, ui.spacing().interact_size.y);
            let shown = ui.allocate_ui(size, |ui| choice(ui, list, parts, &editor.listed));
            let (list, part) = shown.inner;
            if let Some(part) = part.flatten() {
                // The part may be gone after a reload.
                let _ = session.select(part);
            }
            describe(ui, &list, "part of the scene");
            let following = ui.button(">").on_hover_text("next part (m)");
            describe(ui, &following, "next part");
            if following.clicked() {
                session.choose_part(true);
            }
        });
    }

    fn show_properties(
        &mut self,
        ui: &mut Ui,
        part: Part,
        editor: &EditorState,
        session: &mut Session,
    ) {
        for (place, property) in editor.properties.iter().enumerate() {
            let is_selected = editor
                .component
                .as_ref()
                .is_some_and(|one| one.property == place);
            let mut new = None;
            ui.push_id((part, property.id), |ui| {
                let text = RichText::new(&property.label);
                let text = match is_selected {
                    true => text.color(color(ACCENT)),
                    false => text,
                };
                let label = Label::new(text).truncate();
                if ui.available_width() < NARROW {
                    let label = ui.add(label);
                    ui.horizontal_wrapped(|ui| {
                        new = self.show_value(ui, part, property, label.id);
                    });
                    return;
                }
                ui.horizontal(|ui| {
                    let width = LABEL_SHARE * ui.available_width();
                    let size = egui::vec2(width, ui.spacing().interact_size.y);
                    let layout = Layout::left_to_right(Align::Center);
                    let label = ui.allocate_ui_with_layout(size, layout, |ui| {
                        ui.set_min_size(size);
                        ui.add(label)
                    });
                    new = self.show_value(ui, part, property, label.inner.id);
                });
            });
            if let Some(value) = new {
                let continuity = self.continuity(ui, part, property.id);
                self.refusal = None;
                // The part may be gone after a reload.
                if let Some(refusal) = session
                    .edit(part, property.id, value, continuity)
                    .ok()
                    .flatten()
                {
                    self.refusal = Some((part, property.id, refusal));
                }
            }
            if let Some((refused, id, reason)) = &self.refusal
                && (*refused, *id) == (part, property.id)
            {
                ui.label(RichText::new(reason).color(color(WARNING)));
            }
        }
    }

    /// Adds the widget of a value. Returns the value that the user sets.
    fn show_value(
        &mut self,
        ui: &mut Ui,
        part: Part,
        property: &Property,
        label: egui::Id,
    ) -> Option<FieldValue> {
        let refused = RefCell::new(None);
        let new = match (property.value, property.number) {
            (FieldValue::Number(value), Some(kind)) if kind.is_choice() => {
                named_number(ui, value, &kind, label).map(FieldValue::Number)
            }
            (FieldValue::Number(value), Some(kind)) => {
                slider(ui, value, &kind, label, &refused).map(FieldValue::Number)
            }
            (FieldValue::Color(value), _) => {
                color_fields(ui, value, label, &refused).map(FieldValue::Color)
            }
            // Every number has a kind, and no property has another value.
            (FieldValue::Number(_) | FieldValue::Absorption(_) | FieldValue::Background(_), _) => {
                None
            }
        };
        if let Some(text) = refused.into_inner() {
            let reason = format!("{text} not set; it is no number");
            self.refusal = Some((part, property.id, reason));
        }
        new
    }

    /// Returns how a change of a value relates to the one before it: all changes of one drag are undone together.
    fn continuity(&mut self, ui: &Ui, part: Part, id: &'static str) -> Continuity {
        let (is_down, is_entered) = ui.input(|input| {
            (
                input.pointer.any_down(),
                input.key_pressed(egui::Key::Enter),
            )
        });
        if !is_down {
            return match is_entered {
                true => Continuity::Begins,
                false => Continuity::ByTime,
            };
        }
        Continuity::in_drag(self.dragged.replace((part, id)) == Some((part, id)))
    }
}

/// Names a widget for screen readers.
fn describe(ui: &Ui, widget: &Response, name: &str) {
    ui.ctx()
        .accesskit_node_builder(widget.id, |node| node.set_label(name));
}

/// Adds a list of named numbers. Returns the number that the user selects.
fn named_number(ui: &mut Ui, value: f32, kind: &NumberKind, label: egui::Id) -> Option<f32> {
    let list = ComboBox::from_id_salt("choice").selected_text(kind.name_of(value).unwrap_or(""));
    let names = kind.names.iter().enumerate();
    let numbers = names.map(|(number, name)| (kind.min + number as f32, *name));
    let (list, new) = choice(ui, list, numbers, &value);
    list.labelled_by(label);
    new
}

/// Adds a slider with a number field. Returns the number that the user sets, which may be outside the range. `refused`
/// receives a text that is no number.
fn slider(
    ui: &mut Ui,
    value: f32,
    kind: &NumberKind,
    label: egui::Id,
    refused: &RefCell<Option<String>>,
) -> Option<f32> {
    let (low, high) = kind.slider;
    // A logarithmic slider has 0 at its low end if that is valid.
    let from = match kind.is_logarithmic && kind.min == 0.0 {
        true => 0.0,
        false => low,
    };
    let mut shown = f64::from(value);
    let width = (ui.available_width() - NUMBER_WIDTH).max(30.0);
    ui.spacing_mut().slider_width = width;
    let mut slider = Slider::new(&mut shown, f64::from(from)..=f64::from(high))
        .logarithmic(kind.is_logarithmic)
        .smallest_positive(f64::from(low.max(f32::MIN_POSITIVE)))
        .clamping(SliderClamping::Never)
        .suffix(with_unit("", kind.unit))
        .custom_formatter(|value, _| number(value as f32, kind))
        .custom_parser(move |text| parsed(text, value, kind, refused))
        .update_while_editing(false);
    if kind.is_whole {
        slider = slider.step_by(1.0);
    }
    let response = ui.add(slider).labelled_by(label);
    let new = edited(shown, kind);
    (response.changed() && new != value).then_some(new)
}

/// Change of a channel per point of a drag.
const CHANNEL_SPEED: f64 = 0.002;

/// Adds a swatch that opens a color picker, and a field for each channel. Returns the color that the user sets. Channels
/// that the user has not changed keep their exact value.
fn color_fields(
    ui: &mut Ui,
    value: Vec3,
    label: egui::Id,
    refused: &RefCell<Option<String>>,
) -> Option<Vec3> {
    let mut picked = value.to_array();
    let response = ui.color_edit_button_rgb(&mut picked).labelled_by(label);
    let mut new = response.changed().then(|| {
        kept(
            value,
            Vec3::from_array(picked).map(|channel| rounded(channel, 4)),
        )
    });
    for (channel, name) in ["red", "green", "blue"].into_iter().enumerate() {
        let old = value[channel];
        let mut shown = f64::from(old);
        let field = DragValue::new(&mut shown)
            .range(0.0..=1.0)
            .clamp_existing_to_range(false)
            .speed(CHANNEL_SPEED)
            .custom_formatter(|value, _| number(value as f32, &FRACTION))
            .custom_parser(move |text| parsed(text, old, &FRACTION, refused))
            .update_while_editing(false);
        let response = ui.add(field).on_hover_text(name);
        describe(ui, &response, name);
        let changed = edited(shown, &FRACTION);
        if response.changed() && changed != old {
            let mut color = value;
            color[channel] = changed;
            new = Some(color);
        }
    }
    new.filter(|new| *new != value)
}

/// Returns the number that a slider at this value sets: it has four significant digits, or is whole if only whole numbers
/// are valid. It may be outside the range.
pub(super) fn edited(value: f64, kind: &NumberKind) -> f32 {
    let value = value as f32;
    // A typed number keeps its digits.
    if kind.is_whole { value.round() } else { value }
}

/// Formats a number with about four significant digits, without its unit. A named number is replaced by its name.
pub(super) fn number(value: f32, kind: &NumberKind) -> String {
    if let Some(name) = kind.name_of(value) {
        return name.to_owned();
    }
    if kind.is_whole {
        return format!("{value:.0}");
    }
    match value.abs() {
        0.0 => "0".to_owned(),
        ..0.001 | 1e6.. => format!("{value:.2e}"),
        ..1.0 => format!("{value:.4}"),
        ..10.0 => format!("{value:.3}"),
        ..100.0 => format!("{value:.2}"),
        ..1000.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// Reads a typed number, with a point or a comma. A text that is still the displayed one of `old` stands for `old` with
/// all its digits. Stores a text that is no number in `refused`, and returns `None`.
pub(super) fn parsed(
    text: &str,
    old: f32,
    kind: &NumberKind,
    refused: &RefCell<Option<String>>,
) -> Option<f64> {
    let text = text.trim().trim_end_matches(kind.unit).trim_end();
    if text.is_empty() || text == number(old, kind) {
        return Some(f64::from(old));
    }
    match text.replace(',', ".").parse::<f32>() {
        Ok(value) if !value.is_nan() => Some(f64::from(value)),
        _ => {
            refused.replace(Some(text.to_owned()));
            None
        }
    }
}

/// Returns the color `new`, except that channels which differ from `old` only by rounding keep the value of `old`.
pub(super) fn kept(old: Vec3, new: Vec3) -> Vec3 {
    let channel = |place: usize| match (new[place] - old[place]).abs() <= 1e-3 * old[place].abs() {
        true => old[place],
        false => new[place],
    };
    Vec3::new(channel(0), channel(1), channel(2))
}
