//! Panels beside or over the picture. The figures and the legend are drawn on the CPU, as in saved pictures, and displayed
//! as textures.

use egui::{
    Color32, ColorImage, Frame, Id, Pos2, Rect, RectAlign, Sense, TextureHandle, TextureOptions,
    Tooltip, Ui, UiBuilder, WidgetInfo, WidgetType,
};

use super::{
    EDITOR_SHARE, Request, View,
    menu::{self, tool},
    picture::WHOLE,
    to_rect,
};
use crate::{
    overlay::{Figures, Overlay, StatsPanel, StatsRow, canvas::Area},
    session::{Action, Change, DisplayFrame, ScreenAction, Session},
    window::layout::Layout,
};
use raysieve::render::stats::Stats;

/// A panel that is drawn on the CPU and displayed as a texture, which is kept until the content changes.
#[derive(Default)]
pub(super) struct PanelTexture {
    texture: Option<TextureHandle>,
    /// Size of the region in which the panel was drawn in physical pixels; `None` if it must be drawn again.
    drawn_in: Option<(u32, u32)>,
    /// Area of the panel and its rows in words, in physical pixels of its region; `None` if there was no room.
    panel: Option<StatsPanel>,
}

/// Width in points around the text of a tooltip.
const TOOLTIP_MARGIN: f32 = 24.0;

/// Height in points of a tooltip with a long text.
const TOOLTIP_HEIGHT: f32 = 100.0;

/// Height in points of the bar with the menu above the figures.
const TOOL_BAR_HEIGHT: f32 = 22.0;

impl PanelTexture {
    /// Makes the panel be drawn again.
    pub(super) fn forget(&mut self) {
        self.drawn_in = None;
    }

    /// Displays the panel of this name in a region of the window in physical pixels. If it must be drawn again, `draw` draws it into
    /// transparent RGBA bytes of the region's size. Rows are texts for screen readers. They are tooltips too if `tooltips` tells where,
    /// beside or above the region, for want of room below the panel. Returns the area of the panel in the window in points; `None` if there is no room.
    fn show(
        &mut self,
        ui: &Ui,
        name: &str,
        region: Area,
        tooltips: Option<RectAlign>,
        draw: impl FnOnce(&mut [u8], (u32, u32)) -> Option<StatsPanel>,
    ) -> Option<Rect> {
        let size = (region.width.max(0) as u32, region.height.max(0) as u32);
        if self.drawn_in != Some(size) {
            self.drawn_in = Some(size);
            let mut rgba = vec![0; 4 * size.0 as usize * size.1 as usize];
            self.panel = draw(&mut rgba, size);
            if let Some(area) = self.panel.as_ref().map(|panel| panel.area) {
                self.upload(ui, name, &rgba, size.0 as usize, area);
            }
        }
        let (panel, texture) = (self.panel.as_ref()?, self.texture.as_ref()?);
        let scale = ui.pixels_per_point();
        let moved = |area: Area| {
            let columns = area.columns(region.x + area.x, area.width);
            columns.rows(region.y + area.y, area.height)
        };
        let (rect, whole) = (to_rect(moved(panel.area), scale), to_rect(region, scale));
        ui.painter()
            .image(texture.id(), rect, WHOLE, Color32::WHITE);
        for (number, row) in panel.rows.iter().enumerate() {
            let id = Id::new((name, number));
            let area = to_rect(moved(row.area), scale);
            // The edge between two rows belongs to one of them.
            let area = area.with_max_y(area.bottom() - 0.1);
            let response = ui.interact(area, id, Sense::hover());
            response.widget_info(|| WidgetInfo::labeled(WidgetType::Label, true, &row.text));
            if let Some(align) = tooltips {
                // It covers no other row, and the picture only without room below the panel.
                let left = whole.left() - ui.ctx().content_rect().left();
                let (anchor, align, room) = match align {
                    _ if whole.bottom() - rect.bottom() >= TOOLTIP_HEIGHT => {
                        (rect, RectAlign::BOTTOM_START, rect.width())
                    }
                    RectAlign::TOP_START => (whole, align, whole.width()),
                    _ => {
                        let row = Rect::from_x_y_ranges(whole.x_range(), area.y_range());
                        (row, align, left)
                    }
                };
                let width = (room - TOOLTIP_MARGIN).min(ui.spacing().tooltip_width);
                let mut tooltip = Tooltip::for_enabled(&response).width(width);
                tooltip.popup = tooltip.popup.anchor(anchor).align(align);
                tooltip.show(|ui| {
                    ui.set_max_width(width);
                    ui.label(&row.text)
                });
            }
        }
        Some(rect)
    }

    /// Copies the area of an image with `width` pixels per row to the texture.
    fn upload(&mut self, ui: &Ui, name: &str, rgba: &[u8], width: usize, area: Area) {
        let (x, y) = (area.x.max(0) as usize, area.y.max(0) as usize);
        let pixels: &[Color32] = bytemuck::cast_slice(rgba);
        let height = pixels.len() / width;
        let wide = (area.width.max(0) as usize).min(width - x);
        let high = (area.height.max(0) as usize).min(height - y);
        let image = ColorImage::new([width, height], pixels.to_vec());
        let image = image.region_by_pixels([x, y], [wide, high]);
        match &mut self.texture {
            Some(texture) => texture.set(image, TextureOptions::NEAREST),
            None => {
                let context = ui.ctx();
                self.texture = Some(context.load_texture(name, image, TextureOptions::NEAREST));
            }
        }
    }
}

impl View {
    /// Returns the figures of a frame, whose statistics to display are `stats`.
    pub(super) fn figures_of<'a>(
        &self,
        frame: &'a DisplayFrame,
        stats: &'a Stats,
        session: &Session,
    ) -> Figures<'a> {
        Figures {
            denoises: session.look.denoise && self.debug_image.is_none(),
            ..Figures::of(frame, stats, self.settings.units)
        }
    }

    /// Displays the figures in their region, with the button of the menu. If the editor is open and the region is beside
    /// the picture, leaves room for it below the figures, and returns that room in points.
    pub(super) fn show_figures(
        &mut self,
        ui: &mut Ui,
        layout: &Layout,
        session: &Session,
    ) -> Option<Rect> {
        let scale = ui.pixels_per_point();
        let (Some((region, detail)), Some(frame)) = (layout.figures, &self.frame) else {
            show_hidden_menu(ui, to_rect(layout.picture, scale), &mut self.requests);
            return None;
        };
        let stats = frame.stats_in(session.look, self.debug_image.is_some());
        let figures = Figures {
            detail,
            ..self.figures_of(frame, &stats, session)
        };
        let is_beside = !region.meets(&layout.picture) && region.x > layout.picture.x;
        let mut room = region;
        if is_beside {
            let bar = (TOOL_BAR_HEIGHT * scale).round() as i32;
            let tools = region.rows(region.y, bar);
            show_tool_bar(ui, to_rect(tools, scale), &mut self.requests);
            room = region.rows(region.y + bar, (region.height - bar).max(1));
        } else {
            show_hidden_menu(ui, to_rect(layout.picture, scale), &mut self.requests);
        }
        if self.editor.is_open && is_beside {
            let needed = self.overlay.stats_size(size_of(room), &figures).1;
            let most = EDITOR_SHARE * room.height as f32;
            let editor = (self.editor_height * scale).min(most) as i32;
            room.height = needed.min(room.height - editor).max(1);
        }
        let overlay: &mut Overlay = &mut self.overlay;
        let tooltips = match region.meets(&layout.picture) {
            true => None,
            false if is_beside => Some(RectAlign::LEFT_START),
            false => Some(RectAlign::TOP_START),
        };
        let panel = self
            .figures
            .show(ui, "figures", room, tooltips, |rgba, size| {
                overlay.draw_stats(rgba, size, &figures)
            });
        let whole = to_rect(region, scale);
        let below = panel.map_or(whole.top(), |panel| panel.bottom());
        is_beside.then(|| Rect::from_min_max(Pos2::new(whole.left(), below), whole.max))
    }

    /// Displays the legend of the debug image, if there is one, in the lower left corner of the picture's region.
    pub(super) fn show_legend(&mut self, ui: &Ui, region: Area) {
        let Some(debug_image) = &self.debug_image else {
            return;
        };
        let (overlay, legend) = (&mut self.overlay, &debug_image.legend);
        self.legend.show(ui, "legend", region, None, |rgba, size| {
            let area = overlay.draw_legend(rgba, size, legend)?;
            let ticks: Vec<_> = legend
                .ticks
                .iter()
                .map(|(_, number)| number.as_str())
                .collect();
            let text = format!("{}: {}. {}", legend.title, ticks.join(", "), legend.note);
            let rows = vec![StatsRow { area, text }];
            Some(StatsPanel { area, rows })
        });
    }
}

/// Labels and actions of the tool bar.
const TOOLS: [(&str, Action); 6] = [
    ("Open", Action::Screen(ScreenAction::Open)),
    ("Edit", Action::Screen(ScreenAction::Properties)),
    ("Pause", Action::Render(Change::Pause)),
    ("Compare", Action::Render(Change::CompareStrategies)),
    ("Export", Action::Screen(ScreenAction::ExportFigures)),
    ("Keys", Action::Screen(ScreenAction::Keys)),
];

/// Width in points that each button of the tool bar may need. Those for which there is no room are in the menu only.
const TOOL_WIDTH: f32 = 62.0;

/// Displays the bar with the menu and the most used actions.
fn show_tool_bar(ui: &mut Ui, region: Rect, requests: &mut Vec<Request>) {
    let place = region
        .shrink2(egui::vec2(9.0, 0.0))
        .translate(egui::vec2(0.0, 7.0));
    let builder = UiBuilder::new().id_salt("tools").max_rect(place);
    ui.scope_builder(builder, |ui| {
        ui.horizontal(|ui| {
            menu::show(ui, requests);
            for (label, action) in TOOLS {
                if ui.available_width() < TOOL_WIDTH {
                    break;
                }
                if tool(ui, label, action) {
                    requests.push(Request::Act(action));
                }
            }
        });
    });
}

/// Displays the button of the menu in the upper left corner of a picture without figures, while the pointer is near or the
/// keyboard has reached it.
fn show_hidden_menu(ui: &mut Ui, picture: Rect, requests: &mut Vec<Request>) {
    let place = Rect::from_min_size(picture.min + egui::vec2(4.0, 4.0), egui::vec2(44.0, 18.0));
    let near = place.expand(30.0);
    let pointer = ui.input(|input| input.pointer.hover_pos());
    let is_near = pointer.is_some_and(|at| near.contains(at));
    let is_open = egui::Popup::is_any_open(ui.ctx());
    let builder = UiBuilder::new().id_salt("menu").max_rect(place);
    ui.scope_builder(builder, |ui| {
        if !is_near && !is_open {
            ui.set_opacity(0.0);
        }
        menu::show(ui, requests);
    });
}

/// Returns width and height of an area in pixels.
fn size_of(area: Area) -> (u32, u32) {
    (area.width.max(0) as u32, area.height.max(0) as u32)
}

/// Adds a panel in a region in points, as high as its content or the region. Returns the height of the panel.
pub(super) fn framed(
    ui: &mut Ui,
    name: &'static str,
    region: Rect,
    add: impl FnOnce(&mut Ui),
) -> f32 {
    let area = egui::Area::new(Id::new(name))
        .order(egui::Order::Middle)
        .fixed_pos(region.min)
        .constrain(false);
    let shown = area.show(ui.ctx(), |ui| {
        let frame = Frame::window(ui.style()).outer_margin(6.0);
        let margin = frame.total_margin().sum();
        frame.show(ui, |ui| {
            let size = (region.size() - margin).max(egui::vec2(20.0, 20.0));
            ui.set_width(size.x);
            ui.set_max_height(size.y);
            add(ui);
        });
    });
    shown.response.rect.height()
}
