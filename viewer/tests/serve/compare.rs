//! Tests of a region, downloads and the comparison with another image, by the protocol and in the browser.

use std::fs;

use image::{Rgb, RgbImage, Rgba, RgbaImage};
use libtest_mimic::Trial;
use raysieve::render::part::PartHeader;
use serde_json::json;

use crate::{
    browser::has_browser,
    chromium::{DESK, browse},
    denoiser::{PROGRAM_VARIABLE, black_denoiser},
    program::{add_tests, assert_done, run},
    server::{Program, SCENE, scene_folder},
    viewer::Viewer,
};

pub(crate) fn add(trials: &mut Vec<Trial>) {
    add_tests!(
        trials,
        a_region_is_rendered_alone_and_then_the_film_continues,
        film_and_scene_can_be_downloaded,
        denoised_pictures_and_error_maps_stay_transparent,
    );
    add_tests!(
        trials, if has_browser() =>
        the_page_compares_saves_and_magnifies,
        the_compared_image_has_values_and_a_view_of_its_own,
    );
}

/// Downloads the film, and returns its hash.
pub(crate) fn downloaded_hash(program: &Program) -> String {
    let film = program.get("/film.exr", &[]);
    assert_eq!(film.status, 200, "{}", String::from_utf8_lossy(&film.body));
    let path = program.folder.path().join("downloaded.exr");
    fs::write(&path, film.body).unwrap();
    PartHeader::read(&path).unwrap().stats.film_hash
}

/// Renders a scene file of the program's folder without a window, and returns the hash of the film.
pub(crate) fn rendered_hash(program: &Program, scene: &str, arguments: &[&str]) -> String {
    let all = [&[scene, "-o", "rendered.exr"], arguments].concat();
    assert_done(&run(program.folder.path(), all));
    let path = program.folder.path().join("rendered.exr");
    PartHeader::read(&path).unwrap().stats.film_hash
}

fn a_region_is_rendered_alone_and_then_the_film_continues() {
    let program = Program::start(&["--spp", "200"]);
    let mut viewer = Viewer::join(&program);
    let wait_for_region = |viewer: &mut Viewer, region: serde_json::Value| {
        viewer.wait_for_status(|status| status["region"] == region)
    };
    viewer.send(r#"{"region":[40,90,20,500]}"#);
    wait_for_region(&mut viewer, serde_json::json!([20, 90, 21, 30]));
    // A part that contains only a region has no film.
    let done = viewer.wait_for_status(|status| status["state"] == "done");
    assert_eq!(done["stats"]["paths"], 21 * 30 * 200, "{}", done["stats"]);
    let film = program.get("/film.exr", &[]);
    let path = program.folder.path().join("region.exr");
    fs::write(&path, film.body).unwrap();
    assert!(PartHeader::read(&path).is_err());
    let region = raysieve_scene::Image::open(&path).unwrap();
    assert_eq!(
        (region.width, region.height),
        (160, 120),
        "the display window"
    );
    // More samples continue the region.
    viewer.send(r#"{"act":"more-samples"}"#);
    let paths = |status: &serde_json::Value| status["stats"]["paths"].as_u64();
    viewer.wait_for_status(|status| {
        assert!(paths(status) >= Some(21 * 30 * 200), "{}", status["stats"]);
        status["state"] == "done" && paths(status) == Some(21 * 30 * 400)
    });
    // The region remains after a movement of the camera.
    viewer.send(r#"{"turn":[0.1,0]}"#);
    viewer.wait_for_status(|status| {
        status["stats"]["paths"] == 21 * 30 * 400 && status["state"] == "done"
    });
    viewer.send(r#"{"act":"home"}"#);
    viewer.send(r#"{"act":"whole-picture"}"#);
    wait_for_region(&mut viewer, serde_json::Value::Null);
    viewer.wait_for_status(|status| {
        status["state"] == "done" && status["stats"]["paths"] == 160 * 120 * 400
    });
    assert_eq!(
        downloaded_hash(&program),
        rendered_hash(&program, "scene.ron", &["--spp", "400"])
    );
}

fn film_and_scene_can_be_downloaded() {
    let program = Program::start(&[]);
    let mut viewer = Viewer::join(&program);
    let home = viewer.still();
    let scene = program.get("/scene.ron", &[]);
    assert_eq!(scene.text(), SCENE);
    let named = scene.header("content-disposition").unwrap();
    assert_eq!(named, "attachment; filename=\"scene.ron\"");
    viewer.send(r#"{"edit":[{"material":0},"albedo",[0.25,0.2,0.1],false]}"#);
    viewer.wait_for_still(|picture| *picture != home);
    viewer.wait_for_status(|status| status["state"] == "done");
    let scene = program.get("/scene.ron", &[]);
    assert_eq!(
        scene.text(),
        SCENE.replace("(0.7, 0.2, 0.1)", "(0.25, 0.2, 0.1)")
    );
    fs::write(program.folder.path().join("edited.ron"), scene.text()).unwrap();
    assert_eq!(
        downloaded_hash(&program),
        rendered_hash(&program, "edited.ron", &[])
    );
    assert_eq!(program.get("/compared.png", &[]).status, 404);

    // The values of a region are those of its pixels.
    let region = values(&program, "3,5,2,2");
    let pixels = ["3,5,1,1", "4,5,1,1", "3,6,1,1", "4,6,1,1"];
    let pixels: Vec<String> = pixels
        .iter()
        .flat_map(|pixel| values(&program, pixel))
        .collect();
    assert_eq!(region, pixels);
    assert!(region.iter().all(|value| value.parse::<f32>().is_ok()));
    for (region, status) in [("0,0,1", 400), ("0,0,16000,16000", 400), ("159,0,2,1", 404)] {
        let answer = program.get(&format!("/values.json?{region}"), &[]);
        assert_eq!(answer.status, status, "{region}");
    }

    // A message names the edited parts that a downloaded scene lacks.
    let folder = program.folder.path();
    fs::write(
        folder.join("part.obj"),
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
    )
    .unwrap();
    let part = "objects: [\n        Model(file: \"part.obj\"),";
    let text = SCENE.replacen("objects: [", part, 1);
    fs::write(folder.join("scene.ron"), text).unwrap();
    viewer.wait_for_message("reloaded");
    viewer.select(&json!({ "material": 2 }));
    let properties = viewer.editor["properties"].as_array().unwrap().iter();
    let mut colors = properties.filter(|property| property["number"].is_null());
    let color = colors.next().unwrap()["id"].as_str().unwrap().to_owned();
    viewer
        .send(&json!({ "edit": [{ "material": 2 }, color, [0.25, 0.5, 0.75], false] }).to_string());
    viewer.wait_for_property(&color, &json!([0.25, 0.5, 0.75]));
    let scene = program.get("/scene.ron", &[]);
    assert!(scene.text().contains("Model(file: \"part.obj\")"));
    let message = viewer.wait_for_message("scene downloaded, without ");
    assert!(
        message.ends_with(", which the file does not define"),
        "{message}"
    );
}

fn denoised_pictures_and_error_maps_stay_transparent() {
    let folder = scene_folder();
    let transparent = ["scene.ron", "--background", "transparent"];
    for other in [
        ["--spp", "64", "-o", "other.exr"],
        ["--spp", "4", "-o", "a.png"],
    ] {
        assert_done(&run(folder.path(), [&transparent[..], &other].concat()));
    }
    let compared = folder.path().join("other.exr");
    let program = Program::start_on(
        &["--backend", "cpu", "--threads", "1"],
        "127.0.0.1:0",
        &["--denoise", "oidn", "--compare", compared.to_str().unwrap()],
        &[(
            PROGRAM_VARIABLE,
            black_denoiser(folder.path()).to_str().unwrap(),
        )],
    );
    let mut viewer = Viewer::join(&program);
    let is_black = |picture: &RgbImage| picture.as_raw().iter().all(|&value| value == 0);
    viewer.wait_for_still(is_black);
    viewer.send(r#"{"act":"oidn"}"#);
    let home = viewer.wait_for_still(|picture| !is_black(picture));
    viewer.send(r#"{"act":"oidn"}"#);
    viewer.wait_for_still(is_black);
    viewer.send(r#"{"act":"oidn"}"#);
    viewer.wait_for_still(|picture| *picture == home);

    viewer.send(r#"{"edit":["background","background_kind",2,false]}"#);
    let rendered = image::open(folder.path().join("a.png"))
        .unwrap()
        .into_rgba8();
    let picture = viewer.wait_for_still(|picture| {
        let mut pixels = picture.pixels().zip(home.pixels()).zip(rendered.pixels());
        pixels.all(|((pixel, home), rendered)| match rendered.0[3] {
            0 => [[102; 3], [153; 3]].contains(&pixel.0),
            255 => pixel == home,
            _ => true,
        })
    });
    let saved = || {
        let saved = program.get("/picture.png", &[]);
        image::load_from_memory(&saved.body).unwrap().into_rgba8()
    };
    assert!(saved() == rendered, "the picture of a headless render");
    for act in ["oidn", "error-map"] {
        viewer.send(&json!({ "act": act }).to_string());
        // Only the background is as in the picture.
        let is_alike =
            |(pixel, (picture, rendered)): (&Rgb<u8>, (&Rgb<u8>, &Rgba<u8>))| match rendered.0[3] {
                0 => pixel == picture,
                255 => pixel != picture,
                _ => true,
            };
        viewer.wait_for_still(|shown| {
            let both = picture.pixels().zip(rendered.pixels());
            shown
                .pixels()
                .zip(both)
                .filter(|&pixels| is_alike(pixels))
                .count()
                > 160 * 120 - 100
        });
        // The legend covers the lower left corner.
        let (saved, upper) = (saved(), 0..160 * 40);
        let alphas = |image: &RgbaImage| {
            let pixels = image.pixels().take(upper.len());
            pixels.map(|pixel| pixel.0[3]).collect::<Vec<_>>()
        };
        assert!(alphas(&saved) == alphas(&rendered), "alpha of {act}");
        viewer.send(&json!({ "act": act }).to_string());
        viewer.wait_for_still(|shown| *shown == picture);
    }
}

/// Returns the values of a region of the picture, as the program tells them to a page.
fn values(program: &Program, region: &str) -> Vec<String> {
    let answer = program.get(&format!("/values.json?{region}"), &[]);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let answer: serde_json::Value = serde_json::from_str(answer.text()).unwrap();
    let values = answer["values"].as_array().unwrap().iter();
    values
        .map(|value| value.as_str().unwrap().to_owned())
        .collect()
}

fn the_compared_image_has_values_and_a_view_of_its_own() {
    let folder = scene_folder();
    for name in ["other.exr", "other.png"] {
        let other = ["scene.ron", "--seed", "7", "-o", name];
        assert_done(&run(folder.path(), other));
        let compared = folder.path().join(name);
        let program = Program::start(&["--spp", "4", "--compare", compared.to_str().unwrap()]);
        browse(DESK, async |browser| {
            browser.open(&program.url).await;
            browser.wait_for_text("#state", "done").await;
            browser.press("i").await;
            // The pointer is in the middle of a pixel in the left or right half of the picture.
            let lines = async |column: u32| {
                let point = format!(
                    "const box = document.getElementById('picture').getBoundingClientRect();\
                     const scale = Math.min(box.width / 160, box.height / 120);\
                     const clientX = box.x + box.width / 2 + ({column}.5 - 80) * scale;\
                     const clientY = box.y + box.height / 2 + (30.5 - 60) * scale;\
                     const at = {{ clientX, clientY, bubbles: true }};\
                     document.getElementById('picture').dispatchEvent(new PointerEvent('pointermove', at));\
                     return document.getElementById('pixel').textContent"
                );
                let wanted = format!(" {column},30: ");
                let text = browser
                    .until(&point, |text| text.as_str().unwrap().contains(&wanted))
                    .await;
                text.as_str().unwrap().to_owned()
            };
            let left = lines(40).await;
            assert!(left.starts_with("pixel 40,30: "), "{left}");
            let right = lines(120).await;
            let [first, second] = right.lines().collect::<Vec<_>>()[..] else {
                panic!("two lines: {right}");
            };
            let pixel = if name == "other.exr" {
                let image = image::open(&compared).unwrap().into_rgb32f();
                image.get_pixel(120, 30).0
            } else {
                let image = image::open(&compared).unwrap().into_rgb8();
                image.get_pixel(120, 30).0.map(f32::from)
            };
            let values = first.strip_prefix(&format!("{name} 120,30: ")).unwrap();
            for (value, expected) in values.split(' ').zip(pixel) {
                let value: f32 = value.parse().unwrap();
                assert!((value - expected).abs() < 1e-3, "{first}: {pixel:?}");
            }
            assert!(second.starts_with("render 120,30: "), "{right}");

            browser.press("X").await;
            browser
                .until(
                    "return document.getElementById('legend').hidden",
                    |hidden| *hidden == false,
                )
                .await;
            browser.press("x").await;
            browser.press("x").await;
            let text = format!("left: error map; right: {name}");
            browser.wait_for_message(|message| message == text).await;
            browser.press("V").await;
            browser
                .wait_for_message(|message| message == "debug view: light")
                .await;

            // The message about another view comes once.
            let mut viewer = Viewer::join(&program);
            viewer.send(r#"{"turn":[0.2,0]}"#);
            viewer.wait_for_message(&format!(
                "this is not the view of {name} any more; 0 (Home) shows that view again"
            ));
            viewer.send(r#"{"tone":"aces"}"#);
            viewer.wait_for_message("tone curve: aces");
            viewer.send(r#"{"act":"home"}"#);
            viewer.send(r#"{"turn":[0.2,0]}"#);
            let status = viewer.wait_for_status(|status| status["state"] == "done");
            assert_eq!(status["message"][1], "tone curve: aces");
        });
    }
}

fn the_page_compares_saves_and_magnifies() {
    let folder = scene_folder();
    let other = ["scene.ron", "--seed", "7", "-o", "other.exr"];
    assert_done(&run(folder.path(), other));
    let compared = folder.path().join("other.exr");
    let program = Program::start(&["--spp", "64", "--compare", compared.to_str().unwrap()]);
    browse(DESK, async |browser| {
        browser.open(&program.url).await;
        browser.wait_for_text("#state", "done").await;
        let split = "return ['wipe', 'compared'].map((id) => document.getElementById(id).checkVisibility())";
        browser
            .until(split, |shown| *shown == serde_json::json!([true, true]))
            .await;
        let clip = "return document.getElementById('compared').style.clipPath";
        let middle = browser.run(clip).await;
        browser.run("document.getElementById('wipe').focus()").await;
        browser.press("\u{e012}").await;
        browser.until(clip, |clip| *clip != middle).await;
        let loaded = "const image = document.getElementById('compared'); return image.complete && image.naturalWidth";
        browser.until(loaded, |width| *width == 160).await;
        browser.press("x").await;
        browser
            .until(split, |shown| *shown == serde_json::json!([false, false]))
            .await;
        browser.press("X").await;
        let legend = "return document.getElementById('legend').textContent";
        browser
            .until(legend, |text| {
                let text = text.as_str().unwrap();
                text.contains("FLIP, difference from other.exr") && text.contains("mean 0.0")
            })
            .await;
        browser.click("[data-action=error-map]").await;
        browser
            .until(
                "return document.getElementById('legend').hidden",
                |hidden| *hidden == true,
            )
            .await;

        // A slider that has the focus uses its arrows, but no letters.
        let opens_help = |key: &str| {
            format!(
                "const at = {{ key: '{key}', bubbles: true }};\
                 document.getElementById('time').dispatchEvent(new KeyboardEvent('keydown', at));\
                 const keys = document.getElementById('keys');\
                 const isOpen = keys.open; keys.close(); return isOpen"
            )
        };
        for (key, opens) in [("?", true), ("ArrowLeft", false)] {
            assert_eq!(browser.run(&opens_help(key)).await, opens, "{key}");
        }

        let transform = "return document.getElementById('view').style.transform";
        browser.click("[data-action=whole-picture]").await;
        browser
            .until(transform, |text| {
                text.as_str().unwrap().contains("scale(4)")
            })
            .await;
        // Each pixel contains its values once it is large enough.
        let zoom = "for (let notch = 0; notch < 30; notch += 1) {\
                      const at = { ctrlKey: true, deltaY: -100, clientX: 300, clientY: 200, bubbles: true };\
                      document.getElementById('picture').dispatchEvent(new WheelEvent('wheel', at));\
                    }";
        browser.run(zoom).await;
        let written = "const values = document.getElementById('values');\
                       return !values.hidden && values.width > 0 &&\
                         values.getContext('2d').getImageData(0, 0, values.width, values.height).data.some(Boolean)";
        browser
            .until(written, |is_written| *is_written == true)
            .await;
        browser.press("Z").await;
        browser.until(transform, |text| *text == "").await;
        browser
            .until(
                "return document.getElementById('values').hidden",
                |hidden| *hidden == true,
            )
            .await;

        let noise = "return document.getElementById('noise-history-text').textContent";
        browser
            .until(noise, |text| text.as_str().unwrap().starts_with("From "))
            .await;

        browser.press("S").await;
        let links = "return [...document.querySelectorAll('#save a')].map((link) => link.pathname)";
        assert_eq!(
            browser.run(links).await,
            serde_json::json!(["/picture.png", "/film.exr", "/scene.ron"])
        );
        assert_eq!(
            browser
                .run("return document.getElementById('save').open")
                .await,
            true
        );
        browser.click("#save button").await;
        // A download closes the dialog too, so that a message about it is visible.
        browser.press("S").await;
        let download = "const link = document.querySelector('#save-scene a');\
                        link.addEventListener('click', (event) => event.preventDefault());\
                        link.click();\
                        return document.getElementById('save').open";
        assert_eq!(browser.run(download).await, false);

        // A drag selects a region, and a click the whole picture.
        browser.press("o").await;
        browser.drag((0.25, 0.25), (0.75, 0.5)).await;
        let outline = "return document.querySelector('#region').checkVisibility() && \
                       Number(document.querySelector('#region rect').getAttribute('width'))";
        browser
            .until(outline, |width| {
                width
                    .as_u64()
                    .is_some_and(|width| (79..=83).contains(&width))
            })
            .await;
        browser.press("o").await;
        browser.drag((0.5, 0.5), (0.5, 0.5)).await;
        browser.until(outline, |shown| *shown == false).await;
    });
}
