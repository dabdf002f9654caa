//! Tests of the colors of the stages, as people with color vision deficiencies see them.

use raysieve_viewer::chart;

/// A matrix that simulates dichromatic vision in linear sRGB, by Machado, Oliveira and Fernandes (2009), severity 1.
type Vision = [[f64; 3]; 3];

const VISIONS: [(&str, Vision); 4] = [
    (
        "normal vision",
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    ),
    (
        "protanopia",
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ],
    ),
    (
        "deuteranopia",
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ],
    ),
    (
        "tritanopia",
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ],
    ),
];

/// Returns the CIELAB color (D65) that a person with this vision sees.
fn lab(hex: &str, vision: &Vision) -> [f64; 3] {
    let channel = |place: usize| {
        let value = u8::from_str_radix(&hex[place..place + 2], 16).expect("a color");
        match f64::from(value) / 255.0 {
            value if value <= 0.04045 => value / 12.92,
            value => ((value + 0.055) / 1.055).powf(2.4),
        }
    };
    let dot = |row: &[f64; 3], with: &[f64; 3]| -> f64 {
        row.iter().zip(with).map(|(one, other)| one * other).sum()
    };
    let linear = [1, 3, 5].map(channel);
    let seen = vision.map(|row| dot(&row, &linear).clamp(0.0, 1.0));
    let to_xyz = [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ];
    let white = [0.95047, 1.0, 1.08883];
    let mut relative = [0.0; 3];
    for ((value, row), white) in relative.iter_mut().zip(&to_xyz).zip(white) {
        let part = dot(row, &seen) / white;
        *value = match part {
            part if part > 216.0 / 24389.0 => part.cbrt(),
            part => (24389.0 / 27.0 * part + 16.0) / 116.0,
        };
    }
    let [x, y, z] = relative;
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

/// Returns the difference of two CIELAB colors by CIEDE2000 (Sharma, Wu and Dalal 2005).
fn ciede2000([l1, a1, b1]: [f64; 3], [l2, a2, b2]: [f64; 3]) -> f64 {
    let power = |chroma: f64| (chroma.powi(7) / (chroma.powi(7) + 25_f64.powi(7))).sqrt();
    let mean = (a1.hypot(b1) + a2.hypot(b2)) / 2.0;
    let scale = 1.0 + 0.5 * (1.0 - power(mean));
    let (a1, a2) = (scale * a1, scale * a2);
    let (c1, c2) = (a1.hypot(b1), a2.hypot(b2));
    let hue = |a: f64, b: f64| b.atan2(a).to_degrees().rem_euclid(360.0);
    let (h1, h2) = (hue(a1, b1), hue(a2, b2));
    let is_gray = c1 * c2 == 0.0;
    let turn = match h2 - h1 {
        _ if is_gray => 0.0,
        turn if turn > 180.0 => turn - 360.0,
        turn if turn < -180.0 => turn + 360.0,
        turn => turn,
    };
    let hue_mean = match (h1 + h2, (h1 - h2).abs()) {
        (sum, _) if is_gray => sum,
        (sum, distance) if distance <= 180.0 => sum / 2.0,
        (sum, _) if sum < 360.0 => (sum + 360.0) / 2.0,
        (sum, _) => (sum - 360.0) / 2.0,
    };
    let (lightness, chroma) = ((l1 + l2) / 2.0, (c1 + c2) / 2.0);
    let cosine = |factor: f64, shift: f64| (factor * hue_mean + shift).to_radians().cos();
    let t = 1.0 - 0.17 * cosine(1.0, -30.0) + 0.24 * cosine(2.0, 0.0) + 0.32 * cosine(3.0, 6.0)
        - 0.20 * cosine(4.0, -63.0);
    let from_middle = (lightness - 50.0).powi(2);
    let light = (l2 - l1) / (1.0 + 0.015 * from_middle / (20.0 + from_middle).sqrt());
    let color = (c2 - c1) / (1.0 + 0.045 * chroma);
    let turned = 2.0 * (c1 * c2).sqrt() * (turn / 2.0).to_radians().sin();
    let turned = turned / (1.0 + 0.015 * chroma * t);
    let rotation = 60.0 * (-((hue_mean - 275.0) / 25.0).powi(2)).exp();
    let rotation = -2.0 * power(chroma) * rotation.to_radians().sin();
    (light * light + color * color + turned * turned + rotation * color * turned).sqrt()
}

#[test]
fn color_differences_equal_published_ones() {
    // The first, a middle and a dark pair of the test data of Sharma, Wu and Dalal (2005).
    let pairs = [
        ([50.0, 2.6772, -79.7751], [50.0, 0.0, -82.7485], 2.0425),
        ([50.0, 2.5, 0.0], [61.0, -5.0, 29.0], 22.8977),
        (
            [2.0776, 0.0795, -1.1350],
            [0.9033, -0.0636, -0.5514],
            0.9082,
        ),
    ];
    for (one, other, expected) in pairs {
        let found = ciede2000(one, other);
        assert!((found - expected).abs() < 1e-4, "{found} is not {expected}");
    }
}

#[test]
fn stages_differ_for_people_with_any_color_vision() {
    for (name, vision) in &VISIONS {
        for (place, one) in chart::STAGES.iter().enumerate() {
            for other in &chart::STAGES[place + 1..] {
                let difference = ciede2000(lab(one, vision), lab(other, vision));
                assert!(
                    difference >= 16.0,
                    "{one} and {other} differ by {difference:.1} with {name}"
                );
            }
        }
    }
}
