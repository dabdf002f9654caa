//! The look of the window's widgets: fonts, colors and spacing.

use std::{collections::HashSet, sync::Arc};

use egui::{
    Color32, Context, CornerRadius, FontData, FontDefinitions, FontFamily, FontId, Shape, Stroke,
    Theme, Visuals, epaint::ClippedShape,
};

use crate::{
    fonts,
    overlay::colors::{ACCENT, BRIGHT, Color, DIM, PANEL, PLAIN},
};

/// Size of text in pixels at scale 1, at which a character is 7 pixels wide, as in the figures.
const TEXT_SIZE: f32 = 11.6;

pub(super) const fn color([red, green, blue]: Color) -> Color32 {
    Color32::from_rgb(red, green, blue)
}

pub(super) fn context() -> Context {
    let context = Context::default();
    context.set_fonts(definitions(&[]));
    context.set_theme(Theme::Dark);
    context.options_mut(|options| {
        // The window has its own keys for the size of text.
        options.zoom_with_keyboard = false;
        options.max_passes = 2.try_into().unwrap_or(options.max_passes);
        // A click is a click however long a busy machine takes.
        options.input_options.max_click_duration = f64::INFINITY;
        options.input_options.max_click_dist = 4.0;
    });
    context.all_styles_mut(|style| {
        let id = FontId::new(TEXT_SIZE, FontFamily::Monospace);
        for font in style.text_styles.values_mut() {
            *font = id.clone();
        }
        style.animation_time = 0.0;
        style.scroll_animation = egui::style::ScrollAnimation::none();
        style.interaction.selectable_labels = false;
        style.spacing.item_spacing = egui::vec2(6.0, 4.0);
        style.spacing.button_padding = egui::vec2(5.0, 1.0);
        style.spacing.interact_size.y = 16.0;
        style.spacing.slider_width = 90.0;
        style.spacing.window_margin = egui::Margin::same(8);
        style.spacing.scroll = egui::style::ScrollStyle::solid();
        style.spacing.scroll.bar_width = 6.0;
        style.visuals = visuals();
    });
    context
}

fn visuals() -> Visuals {
    let mut visuals = Visuals::dark();
    visuals.override_text_color = Some(color(PLAIN));
    visuals.weak_text_color = Some(color(DIM));
    visuals.window_fill = color(PANEL);
    visuals.window_corner_radius = CornerRadius::same(6);
    visuals.menu_corner_radius = CornerRadius::same(6);
    visuals.window_stroke = Stroke::new(1.0, Color32::from_rgb(62, 68, 80));
    visuals.window_shadow = egui::Shadow::NONE;
    visuals.popup_shadow = egui::Shadow::NONE;
    visuals.extreme_bg_color = Color32::from_rgb(30, 34, 42);
    visuals.selection.bg_fill = Color32::from_rgb(66, 98, 138);
    visuals.selection.stroke = Stroke::new(1.0, color(BRIGHT));
    visuals.slider_trailing_fill = true;
    // A blinking cursor would redraw the window for ever.
    visuals.text_cursor.blink = false;
    visuals.widgets.noninteractive.fg_stroke.color = color(PLAIN);
    visuals.widgets.hovered.fg_stroke.color = color(ACCENT);
    visuals
}

fn definitions(system: &[fonts::SystemFont]) -> FontDefinitions {
    let mut definitions = FontDefinitions::empty();
    let embedded = FontData::from_static(fonts::EMBEDDED);
    let others = system.iter().map(|font| FontData {
        index: font.index,
        ..FontData::from_static(font.data)
    });
    let mut names = Vec::new();
    for (number, font) in [embedded].into_iter().chain(others).enumerate() {
        let name = number.to_string();
        definitions.font_data.insert(name.clone(), Arc::new(font));
        names.push(name);
    }
    for family in [FontFamily::Monospace, FontFamily::Proportional] {
        definitions.families.insert(family, names.clone());
    }
    definitions
}

/// Fonts of the system for characters that the embedded font lacks.
#[derive(Default)]
pub(super) struct Fallback {
    fonts: Vec<fonts::SystemFont>,
    /// Characters outside ASCII that have been displayed.
    known: HashSet<char>,
}

impl Fallback {
    /// Adds fonts of the system for characters of displayed texts that the fonts so far lack. Returns whether fonts were
    /// added, so that the texts must be laid out again.
    pub(super) fn add_missing(&mut self, context: &Context, shapes: &[ClippedShape]) -> bool {
        let mut new = Vec::new();
        for ClippedShape { shape, .. } in shapes {
            collect(shape, &mut |character| {
                if self.known.insert(character) {
                    new.push(character);
                }
            });
        }
        let count = self.fonts.len();
        let embedded = fonts::embedded();
        for character in new {
            use ab_glyph::Font;
            if embedded.glyph_id(character).0 != 0 {
                continue;
            }
            let font = fonts::for_character(character);
            let is_known = |font: &fonts::SystemFont| {
                let same = |known: &fonts::SystemFont| {
                    known.data.as_ptr() == font.data.as_ptr() && known.index == font.index
                };
                self.fonts.iter().any(same)
            };
            if let Some(font) = font.filter(|font| !is_known(font)) {
                self.fonts.push(font);
            }
        }
        let has_added = self.fonts.len() > count;
        if has_added {
            context.set_fonts(definitions(&self.fonts));
        }
        has_added
    }
}

/// Passes the characters outside ASCII of a shape's texts to a function.
fn collect(shape: &Shape, receive: &mut impl FnMut(char)) {
    match shape {
        Shape::Vec(shapes) => shapes.iter().for_each(|shape| collect(shape, receive)),
        Shape::Text(text) => {
            let characters = text.galley.text().chars();
            characters
                .filter(|character| !character.is_ascii())
                .for_each(receive);
        }
        _ => {}
    }
}
