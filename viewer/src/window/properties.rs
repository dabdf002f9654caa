//! The panel of properties in the window: what a pointer and keys do with the rows of the selected part.
//!
//! The session has the properties. This module lays out their rows, and turns positions on sliders into values.

mod numbers;

use winit::keyboard::{Key, NamedKey};

use self::numbers::{
    from_hsv, number_text, rounded, slider_position, to_hsv, to_srgb8, unclamped_position,
    value_at_position,
};
use crate::{
    overlay::{
        Overlay,
        canvas::Area,
        properties::{DrawnProperties, PropertyRow, RowState},
    },
    session::{
        Action, Change, Continuity, PartInfo, Property, ScreenAction, Session, range_refusal,
    },
};
use raysieve_scene::{FieldValue, NumberKind, Part};

/// The state of the panel. It exists also while it is hidden.
#[derive(Default)]
pub(super) struct Properties {
    is_open: bool,
    /// The parts of the scene while the panel lists them; `None` while it shows the properties of the selected part.
    parts: Option<Vec<PartInfo>>,
    /// First row that is displayed below the fixed rows.
    first: usize,
    /// Colour whose sliders are displayed: its part and property.
    open_color: Option<(Part, &'static str)>,
    /// Hue, saturation and value that the sliders of the open colour have set. A grey has no hue of its own.
    hsv: Option<[f32; 3]>,
    /// Rows when they were last drawn, and their areas.
    rows: Vec<RowAction>,
    drawn: DrawnProperties,
    /// Slider that the pointer holds.
    drag: Option<Drag>,
    /// Row into which a number is typed, and the text so far.
    typing: Option<(RowAction, String)>,
    /// Row whose last entry was refused, and the lines that say why, which are displayed below it until the next input.
    refusal: Option<(RowAction, Vec<String>)>,
}

/// The effect of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
enum RowAction {
    /// Selects the previous part, lists all parts, or selects the next part, for the buttons from left to right.
    Title,
    /// Undoes, redoes, saves, or closes the panel.
    Tools,
    /// Selects this part, in the list of parts.
    Select(Part),
    /// Does nothing.
    Note,
    Number {
        part: Part,
        id: &'static str,
        kind: NumberKind,
    },
    /// Displays or hides the sliders of a colour.
    Color { part: Part, id: &'static str },
    /// Changes a channel of the colour: 0 for hue, 1 for saturation, 2 for value.
    Channel {
        part: Part,
        id: &'static str,
        channel: usize,
    },
}

/// A press on a slider.
struct Drag {
    row: RowAction,
    slider: Area,
    /// Position of the press in window pixels.
    pressed: (f64, f64),
    /// Whether the pointer has moved, so that the press is not a click.
    has_moved: bool,
}

/// The effect of an input that the window must bring about.
#[derive(Default)]
pub(super) struct Effect {
    /// Message to display.
    pub(super) message: Option<String>,
    /// Action of a button.
    pub(super) action: Option<Action>,
}

impl Effect {
    fn message(text: &str) -> Self {
        Self {
            message: Some(text.to_owned()),
            action: None,
        }
    }
}

/// Message that is displayed when typing of a number begins, and after a key that has no effect while typing.
const TYPING: &str = "type a number: Enter sets it, Escape keeps the old one";

/// Number of rows that do not scroll: the title and the tools.
const FIXED: usize = 2;

/// Labels of the tools, with their actions.
const TOOLS: [(&str, Action); 5] = [
    ("undo", Action::Render(Change::Undo)),
    ("redo", Action::Render(Change::Redo)),
    ("save", Action::Render(Change::SaveCamera)),
    ("save as", Action::Screen(ScreenAction::SaveSceneAs)),
    ("close", Action::Screen(ScreenAction::Properties)),
];

/// Labels of the sliders of a colour.
const CHANNELS: [&str; 3] = ["  hue", "  saturation", "  value"];

/// Units and ranges of the sliders of a colour: hue, saturation and value.
const CHANNEL_KINDS: [NumberKind; 3] = [
    channel_kind("°", 360.0),
    channel_kind("", 1.0),
    channel_kind("", 1.0),
];

const fn channel_kind(unit: &'static str, max: f32) -> NumberKind {
    NumberKind {
        unit,
        min: 0.0,
        max,
        slider: (0.0, max),
        is_logarithmic: false,
        is_whole: false,
        names: &[],
    }
}

/// Distance in window pixels from which a press counts as a drag instead of a click.
const CLICK_PIXELS: f64 = 3.0;

/// Share of a slider by which a notch of the wheel changes a number.
const FINE_STEP: f32 = 0.01;

/// Number of rows by which a notch of the wheel scrolls.
const ROWS_PER_NOTCH: f32 = 3.0;

/// Maximum number of characters of a typed number.
const MAX_TYPED: usize = 16;

impl Properties {
    /// Shows or hides the panel, and discards a number that is being typed. Showing it selects the first part if none
    /// is selected.
    pub(super) fn switch(&mut self, session: &mut Session) {
        self.is_open = !self.is_open;
        self.parts = None;
        self.typing = None;
        self.refusal = None;
        self.drag = None;
        if self.is_open && session.selected_part().is_none() {
            session.choose_part(true);
        }
    }

    /// Returns whether the panel is displayed.
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Hides the list of parts or, without it, the panel, and discards a number that is being typed. Returns whether
    /// there was something to hide.
    pub(super) fn close(&mut self) -> bool {
        self.typing = None;
        self.drag = None;
        self.parts.take().is_some() || std::mem::take(&mut self.is_open)
    }

    /// Returns whether a position in window pixels is on the panel.
    pub(super) fn contains(&self, (x, y): (f64, f64)) -> bool {
        self.is_open && self.drawn.panel.is_some_and(|panel| is_in(panel, x, y))
    }

    /// Returns whether the pointer holds a slider.
    pub(super) fn is_dragging(&self) -> bool {
        self.drag.is_some()
    }

    /// Returns whether a number is being typed, so that keys belong to the panel.
    pub(super) fn is_typing(&self) -> bool {
        self.is_open && self.typing.is_some()
    }

    /// Forgets where the panel was drawn, so that the pointer does not reach it while something else is in its place.
    /// Returns whether the frame shows it, which may be drawn only if `has_room`.
    pub(super) fn begin_frame(&mut self, has_room: bool) -> bool {
        self.drawn.panel = None;
        self.drawn.targets.clear();
        self.is_open && has_room
    }

    /// Draws the panel into a region, unless it is hidden. If the panel `is_alone` there, it covers what was drawn in
    /// the region before. Returns its area.
    pub(super) fn draw(
        &mut self,
        overlay: &mut Overlay,
        rgba: &mut [u8],
        size: (u32, u32),
        (region, is_alone): (Area, bool),
        session: &Session,
    ) -> Option<Area> {
        if !self.is_open {
            return None;
        }
        let (rows, actions): (Vec<_>, Vec<_>) = self.layout(session).into_iter().unzip();
        self.rows = actions;
        // A click in the picture or a reload may have removed the row. Keys belong to the panel only while it is there.
        let actions = &self.rows;
        self.typing
            .take_if(|(typed, _)| !actions.iter().any(|row| typed.is_same(*row)));
        let place = (region, is_alone);
        self.drawn = overlay.draw_properties(rgba, size, place, &rows, (FIXED, self.first));
        self.first = self.drawn.first;
        self.drawn.panel
    }

    /// Returns the rows with their effects.
    fn layout(&self, session: &Session) -> Vec<(PropertyRow, RowAction)> {
        let name = session.selected_name();
        let name = name.unwrap_or_else(|| "nothing selected".to_owned());
        let title = [" < ".to_owned(), format!("{name} …"), " > ".to_owned()];
        let tools = TOOLS.map(|(label, _)| label.to_owned());
        let mut rows = vec![
            (PropertyRow::Buttons(title.into()), RowAction::Title),
            (PropertyRow::Buttons(tools.into()), RowAction::Tools),
        ];
        if let Some(parts) = &self.parts {
            rows.extend(parts.iter().map(|PartInfo { part, name }| {
                let entry = PropertyRow::Buttons(vec![name.clone()]);
                (entry, RowAction::Select(*part))
            }));
            return rows;
        }
        let Some(part) = session.selected_part() else {
            let note = "click on an object in the picture".to_owned();
            rows.push((PropertyRow::Note(note), RowAction::Note));
            return rows;
        };
        let selected = session.selected_component();
        for (number, property) in session.properties().iter().enumerate() {
            let is_selected = selected.as_ref().is_some_and(|one| one.property == number);
            self.add_rows(&mut rows, part, property, is_selected);
        }
        if let Some((refused, lines)) = &self.refusal
            && let Some(place) = rows.iter().position(|(_, row)| row.is_same(*refused))
        {
            let lines = lines.iter().map(|line| {
                let line = PropertyRow::Warning(format!("  {line}"));
                (line, RowAction::Note)
            });
            rows.splice(place + 1..place + 1, lines);
        }
        rows
    }

    /// Adds the rows of a property.
    fn add_rows(
        &self,
        rows: &mut Vec<(PropertyRow, RowAction)>,
        part: Part,
        property: &Property,
        is_selected: bool,
    ) {
        let id = property.id;
        let slider = |label: &str, value: f32, kind: NumberKind, row: RowAction| {
            let typed = self.typing.as_ref().filter(|(typed, _)| typed.is_same(row));
            let (value_text, state) = match typed {
                Some((_, text)) => (format!("{text}_"), RowState::Typing),
                None if is_selected => (number_text(value, &kind), RowState::Selected),
                None => (number_text(value, &kind), RowState::Plain),
            };
            let row_drawn = PropertyRow::Slider {
                label: label.to_owned(),
                value: value_text,
                filled: slider_position(value, &kind),
                state,
            };
            (row_drawn, row)
        };
        match (property.value, property.number) {
            (FieldValue::Number(value), Some(kind)) => {
                let row = RowAction::Number { part, id, kind };
                rows.push(slider(&property.label, value, kind, row));
            }
            (FieldValue::Color(color), _) => {
                let is_open = self.open_color == Some((part, id));
                let swatch = PropertyRow::Swatch {
                    label: property.label.clone(),
                    colour: to_srgb8(color),
                    state: match is_selected {
                        true => RowState::Selected,
                        false => RowState::Plain,
                    },
                };
                rows.push((swatch, RowAction::Color { part, id }));
                if is_open {
                    let hsv = self.hsv_of(color);
                    // The colour of a light has no brightness of its own.
                    let count = if property.is_hue() { 2 } else { 3 };
                    for channel in 0..count {
                        let row = RowAction::Channel { part, id, channel };
                        let (label, kind) = (CHANNELS[channel], CHANNEL_KINDS[channel]);
                        rows.push(slider(label, hsv[channel], kind, row));
                    }
                }
            }
            // Every number has a kind, and no property has another value.
            (FieldValue::Number(_) | FieldValue::Absorption(_) | FieldValue::Background(_), _) => {}
        }
    }

    /// Returns hue, saturation and value of a colour: those that the sliders have set if they still give that colour.
    fn hsv_of(&self, color: glam::Vec3) -> [f32; 3] {
        let is_same = |hsv: &[f32; 3]| from_hsv(*hsv).abs_diff_eq(color, 1e-3);
        self.hsv.filter(is_same).unwrap_or_else(|| to_hsv(color))
    }

    /// Handles a press of the left button on the panel.
    pub(super) fn press(&mut self, at: (f64, f64), session: &mut Session) -> Effect {
        self.refusal = None;
        let mut effect = self.end_typing(session);
        let targets = self.drawn.targets.iter();
        let hit = targets.copied().find(|&(area, ..)| is_in(area, at.0, at.1));
        let Some((area, row, button)) = hit else {
            return effect;
        };
        match self.rows.get(row).copied() {
            Some(RowAction::Title) if button != 1 => {
                session.choose_part(button == 2);
                self.parts = None;
                self.first = 0;
            }
            Some(RowAction::Title) => {
                self.first = 0;
                self.parts = match self.parts {
                    Some(_) => None,
                    None => {
                        let parts = session.parts();
                        let selected = session.selected_listed_part();
                        let place = parts.iter().position(|info| Some(info.part) == selected);
                        self.first = place.unwrap_or_default();
                        Some(parts)
                    }
                };
            }
            Some(RowAction::Select(part)) => {
                // The part may be gone after a reload.
                let _ = session.select(part);
                self.parts = None;
                self.first = 0;
            }
            Some(RowAction::Tools) => effect.action = TOOLS.get(button).map(|&(_, action)| action),
            Some(RowAction::Color { part, id }) => {
                let is_open = self.open_color == Some((part, id));
                self.open_color = (!is_open).then_some((part, id));
                self.hsv = None;
            }
            Some(row @ (RowAction::Number { .. } | RowAction::Channel { .. })) => {
                self.drag = Some(Drag {
                    row,
                    slider: area,
                    pressed: at,
                    has_moved: false,
                });
            }
            Some(RowAction::Note) | None => {}
        }
        effect
    }

    /// Handles a movement of the pointer that holds a slider.
    pub(super) fn drag(&mut self, at: (f64, f64), session: &mut Session) -> Effect {
        let Some(drag) = &mut self.drag else {
            return Effect::default();
        };
        let (right, down) = (at.0 - drag.pressed.0, at.1 - drag.pressed.1);
        if !drag.has_moved && right.hypot(down) < CLICK_PIXELS {
            return Effect::default();
        }
        let continuity = match std::mem::replace(&mut drag.has_moved, true) {
            true => Continuity::Continues,
            false => Continuity::Begins,
        };
        let (row, slider) = (drag.row, drag.slider);
        let part = (at.0 - f64::from(slider.x)) / f64::from(slider.width.max(1));
        let Some(kind) = row.kind() else {
            return Effect::default();
        };
        let part = part.clamp(0.0, 1.0) as f32;
        self.set(row, value_at_position(part, &kind), continuity, session)
    }

    /// Handles the release of the button. A click on a slider begins the typing of a number, or selects the next
    /// choice.
    pub(super) fn release(&mut self, session: &mut Session) -> Effect {
        let Some(drag) = self.drag.take().filter(|drag| !drag.has_moved) else {
            return Effect::default();
        };
        let choice = drag.row.kind().filter(NumberKind::is_choice);
        if let Some((kind, value)) = choice.zip(self.value(drag.row, session)) {
            let next = if value < kind.max {
                value + 1.0
            } else {
                kind.min
            };
            return self.set(drag.row, next, Continuity::Begins, session);
        }
        self.typing = Some((drag.row, String::new()));
        Effect::message(TYPING)
    }

    /// Handles notches of the wheel at a position on the panel: changes the slider there a little, or scrolls.
    pub(super) fn scroll(&mut self, at: (f64, f64), notches: f32, session: &mut Session) -> Effect {
        let targets = self.drawn.targets.iter();
        let hit = targets.copied().find(|&(area, ..)| is_in(area, at.0, at.1));
        let row = hit.and_then(|(_, row, _)| self.rows.get(row).copied());
        if let Some((row, kind)) = row.and_then(|row| Some((row, row.kind()?)))
            && let Some(value) = self.value(row, session)
        {
            let low = kind.slider.0;
            // A logarithmic slider cannot leave 0 by factors.
            let value = match kind.is_logarithmic && value <= 0.0 && notches > 0.0 {
                true => low,
                false if kind.is_whole => kind.clamped(value + notches.signum()),
                false => {
                    let position = unclamped_position(value, &kind) + FINE_STEP * notches;
                    value_at_position(position, &kind)
                }
            };
            return self.set(row, value, Continuity::ByTime, session);
        }
        let rows = (ROWS_PER_NOTCH * notches).round();
        self.first = (self.first as f32 - rows).max(0.0) as usize;
        Effect::default()
    }

    /// Handles a key while a number is typed.
    pub(super) fn type_key(&mut self, key: &Key, session: &mut Session) -> Effect {
        let Some((_, text)) = &mut self.typing else {
            return Effect::default();
        };
        match key {
            Key::Named(NamedKey::Enter) => return self.end_typing(session),
            Key::Named(NamedKey::Escape) => self.typing = None,
            Key::Named(NamedKey::Backspace) => drop(text.pop()),
            Key::Character(letters) => {
                let is_number =
                    |letter: &char| letter.is_ascii_digit() || "+-.,eE".contains(*letter);
                let room = MAX_TYPED.saturating_sub(text.len());
                let mut typed = letters.chars().filter(is_number).take(room).peekable();
                if typed.peek().is_none() {
                    return Effect::message(TYPING);
                }
                text.extend(typed);
            }
            // A modifier key acts together with another key.
            Key::Named(
                NamedKey::Shift | NamedKey::Control | NamedKey::Alt | NamedKey::AltGraph,
            ) => {}
            _ => return Effect::message(TYPING),
        }
        Effect::default()
    }

    /// Handles a press outside the panel: sets the number that is being typed, and hides the list of parts.
    pub(super) fn leave(&mut self, session: &mut Session) -> Effect {
        self.parts = None;
        self.end_typing(session)
    }

    /// Ends typing, and sets the typed number. If the text is no number, displays that below the row. An empty text
    /// changes nothing, and nothing happens if no number is being typed.
    fn end_typing(&mut self, session: &mut Session) -> Effect {
        let Some((row, text)) = self.typing.take().filter(|(_, text)| !text.is_empty()) else {
            return Effect::default();
        };
        match text.replace(',', ".").parse::<f32>() {
            Ok(value) if !value.is_nan() => self.set(row, value, Continuity::Begins, session),
            _ => {
                self.refuse(row, &format!("{text} not set; it is no number"));
                Effect::default()
            }
        }
    }

    /// Returns the present value of a row; `None` if it has none.
    fn value(&self, row: RowAction, session: &Session) -> Option<f32> {
        let (of, id) = row.property()?;
        if session.selected_part() != Some(of) {
            return None;
        }
        let properties = session.properties();
        let property = properties.iter().find(|property| property.id == id)?;
        match (property.value, row) {
            (FieldValue::Number(value), _) => Some(value),
            (FieldValue::Color(color), RowAction::Channel { channel, .. }) => {
                Some(self.hsv_of(color)[channel])
            }
            _ => None,
        }
    }

    /// Sets the value of a row. If the value is outside its range, changes nothing and displays the range below the row.
    fn set(
        &mut self,
        row: RowAction,
        value: f32,
        continuity: Continuity,
        session: &mut Session,
    ) -> Effect {
        let Some((part, id)) = row.property() else {
            return Effect::default();
        };
        let value = match row {
            RowAction::Channel { channel, .. } => {
                let (label, kind) = (CHANNELS[channel].trim(), &CHANNEL_KINDS[channel]);
                if let Some(refusal) = range_refusal(label, value, kind) {
                    self.refuse(row, &refusal);
                    return Effect::default();
                }
                let properties = session.properties();
                let color = properties.iter().find(|property| property.id == id);
                let Some(FieldValue::Color(color)) = color.map(|property| property.value) else {
                    return Effect::default();
                };
                let mut hsv = self.hsv_of(color);
                hsv[channel] = value;
                self.hsv = Some(hsv);
                FieldValue::Color(from_hsv(hsv).map(rounded))
            }
            _ => FieldValue::Number(value),
        };
        // The part may be gone after a reload.
        self.refusal = None;
        if let Some(refusal) = session.edit(part, id, value, continuity).ok().flatten() {
            self.refuse(row, &refusal);
        }
        Effect::default()
    }

    /// Displays below a row why its entry was refused: what was not set, and after a semicolon what is valid.
    fn refuse(&mut self, row: RowAction, refusal: &str) {
        let lines = refusal.split("; ").map(str::to_owned);
        self.refusal = Some((row, lines.collect()));
    }

    /// Removes the explanation of a refused entry, because another input has followed.
    pub(super) fn forget_refusal(&mut self) {
        self.refusal = None;
    }
}

impl RowAction {
    /// Returns part and property that the row changes.
    fn property(self) -> Option<(Part, &'static str)> {
        match self {
            RowAction::Number { part, id, .. } | RowAction::Channel { part, id, .. } => {
                Some((part, id))
            }
            _ => None,
        }
    }

    /// Returns unit and range of the row's slider.
    fn kind(self) -> Option<NumberKind> {
        match self {
            RowAction::Number { kind, .. } => Some(kind),
            RowAction::Channel { channel, .. } => Some(CHANNEL_KINDS[channel]),
            _ => None,
        }
    }

    /// Returns whether both rows change the same number, whatever its range is.
    fn is_same(self, other: RowAction) -> bool {
        let channel = |row| match row {
            RowAction::Channel { channel, .. } => Some(channel),
            _ => None,
        };
        self.property() == other.property() && channel(self) == channel(other)
    }
}

fn is_in(area: Area, x: f64, y: f64) -> bool {
    let inside = |at: f64, begin: i32, length: i32| {
        (f64::from(begin)..f64::from(begin + length)).contains(&at)
    };
    inside(x, area.x, area.width) && inside(y, area.y, area.height)
}
