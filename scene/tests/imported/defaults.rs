//! Tests of the names and values of Mitsuba's `<default>`, and of definitions by options.

use raysieve_scene::LoadOptions;

use super::{
    load_with,
    mitsuba::{BALL, refused},
};

#[test]
fn values_that_contain_each_other_do_not_take_all_memory() {
    let mut defaults = "<default name=\"a0\" value=\"xxxxxxxxxx\"/>".to_owned();
    for level in 1..40 {
        let inner = format!("$a{}", level - 1).repeat(4);
        defaults += &format!("<default name=\"a{level}\" value=\"{inner}\"/>");
    }
    refused(
        &(defaults + BALL),
        "`$a6$a6$a6$a6` has more than 65536 characters with its defaults; shorten them",
    );
    let text = "x".repeat(60_000);
    let uses = "<string name=\"s\" value=\"$long\"/>".repeat(1000);
    let members = format!("<default name=\"long\" value=\"{text}\"/>{uses}{BALL}");
    refused(
        &members,
        "all values with defaults have more than 16777216 characters",
    );
}

#[test]
fn names_without_a_value_are_defined_by_options() {
    let sampler =
        "<sampler type=\"independent\"><integer name=\"sample_count\" value=\"$spp\"/></sampler>";
    let text = format!(
        "<scene><default name=\"size\" value=\"8\"/><sensor type=\"perspective\">{sampler}<film type=\"hdrfilm\">\
         <integer name=\"width\" value=\"$size\"/></film></sensor>{BALL}</scene>"
    );
    let with = |defines: &[(&str, &str)]| {
        let defines = defines
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()));
        let options = LoadOptions {
            defines: defines.collect(),
            ..LoadOptions::default()
        };
        load_with(&[("scene.xml", &text)], &options)
    };
    let scene = with(&[("spp", "7"), ("size", "9")]).unwrap();
    assert_eq!((scene.spp, scene.size.0), (7, 9));
    assert_eq!(with(&[("spp", "7")]).unwrap().size.0, 8);
    let error = with(&[]).unwrap_err();
    assert!(
        error.ends_with(
            "`$spp` has no value; add <default name=\"spp\" value=\"..\"/> or --define spp=.."
        ),
        "{error}"
    );
    let error = with(&[("spp", "7"), ("sise", "9")]).unwrap_err();
    assert!(
        error.ends_with("does not use `$sise`; do not define it"),
        "{error}"
    );
}

/// A step of a transform was left out if its name had no value.
#[test]
fn a_transform_with_a_name_without_a_value_is_refused() {
    let transform = "<transform name=\"to_world\"><translate x=\"$far\"/></transform>";
    refused(
        &format!("<shape type=\"sphere\">{transform}</shape>"),
        "`$far` has no value",
    );
}
