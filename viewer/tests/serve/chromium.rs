//! Drives Chromium through its WebDriver, with real input and screenshots.

use std::{
    io::{BufRead, BufReader},
    process::{Child, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use fantoccini::{
    Client, ClientBuilder, Locator,
    actions::{InputSource, MOUSE_BUTTON_LEFT, MouseActions, PointerAction},
};
use hyper_util::client::legacy::connect::HttpConnector;
use image::RgbImage;
use serde_json::{Value, json};

use crate::{browser::ALIKE, server::TIMEOUT, viewer::difference};

/// The kind of screen that a browser emulates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    width: u32,
    height: u32,
    /// A high pixel density and a touch screen.
    is_phone: bool,
    is_dark: bool,
}

/// Screen of a desktop computer.
pub(crate) const DESK: Screen = Screen {
    width: 1280,
    height: 800,
    is_phone: false,
    is_dark: false,
};

/// Screen of a desktop computer with a dark color scheme.
pub(crate) const DARK: Screen = Screen {
    is_dark: true,
    ..DESK
};

/// Screen of a phone.
pub(crate) const PHONE: Screen = Screen {
    width: 390,
    height: 844,
    is_phone: true,
    is_dark: false,
};

/// Screen of a phone that is held sideways.
pub(crate) const SIDEWAYS: Screen = Screen {
    width: 844,
    height: 390,
    ..PHONE
};

/// A browser session and its driver process.
pub(crate) struct Browser {
    pub(crate) client: Client,
    driver: Driver,
}

struct Driver {
    child: Child,
    /// The standard output. It stays open, because a write to a closed pipe would end the driver.
    stdout: BufReader<ChildStdout>,
}

impl Driver {
    /// Starts a driver. Returns it with the port on which it listens.
    fn start() -> (Self, u16) {
        // It chooses a free port for IPv6, and ends if another program has the one for IPv4.
        let mut attempts = (0..10).map(|_| Self::try_to_start());
        let started = attempts.find_map(Result::ok);
        started.unwrap_or_else(|| Self::try_to_start().unwrap_or_else(|lines| panic!("{lines}")))
    }

    /// Starts a driver like [`start`](Self::start). If it ends without listening, returns what it has printed.
    fn try_to_start() -> Result<(Self, u16), String> {
        let mut child = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut driver = Self { child, stdout };
        let mut lines = String::new();
        loop {
            let mut line = String::new();
            driver.stdout.read_line(&mut line).unwrap();
            if line.is_empty() {
                return Err(format!("chromedriver names no port: {lines}"));
            }
            if let Some((_, port)) = line.split_once("started successfully on port ") {
                let port = port.trim_end().trim_end_matches('.').parse().unwrap();
                return Ok((driver, port));
            }
            lines += &line;
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A script that records the texts of messages in `shownMessages`, because a message disappears after some seconds and a
/// slow test can miss it. An input empties the record before the page handles it.
const RECORD_MESSAGES: &str = "
    window.shownMessages = [];
    new MutationObserver((changes) => {
      for (const {addedNodes} of changes) window.shownMessages.push(...[...addedNodes].map((node) => node.textContent));
    }).observe(document.getElementById('message'), {childList: true});
    for (const kind of ['keydown', 'pointerdown', 'change']) {
      window.addEventListener(kind, () => window.shownMessages.length = 0, {capture: true});
    }";

/// Opens a browser and closes it after `look` has ended.
pub(crate) fn browse(screen: Screen, look: impl AsyncFnOnce(&Browser)) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let browser = Browser::start(screen).await;
        look(&browser).await;
        let Browser { client, driver } = browser;
        client.close().await.unwrap();
        drop(driver);
    });
}

impl Browser {
    async fn start(screen: Screen) -> Self {
        let Screen { width, height, .. } = screen;
        let (driver, port) = Driver::start();
        let mut options = json!({ "args": [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            format!("--window-size={width},{height}"),
            format!("--blink-settings=preferredColorScheme={}", u8::from(!screen.is_dark)),
        ] });
        if screen.is_phone {
            options["mobileEmulation"] = json!({ "deviceMetrics": {
                "width": width, "height": height, "pixelRatio": 2.0, "touch": true,
            } });
        }
        let capabilities = json!({
            "goog:chromeOptions": options,
        });
        let Value::Object(capabilities) = capabilities else {
            unreachable!("an object");
        };
        let start_time = Instant::now();
        loop {
            let connected = ClientBuilder::new(HttpConnector::new())
                .capabilities(capabilities.clone())
                .connect(&format!("http://127.0.0.1:{port}"))
                .await;
            match connected {
                Ok(client) => return Self { client, driver },
                Err(error) => assert!(start_time.elapsed() < TIMEOUT, "{error}"),
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    pub(crate) async fn open(&self, url: &str) {
        self.client.goto(url).await.unwrap();
        self.run(RECORD_MESSAGES).await;
        self.run("document.body.click()").await;
    }

    pub(crate) async fn run(&self, script: &str) -> Value {
        self.client.execute(script, Vec::new()).await.unwrap()
    }

    /// Runs a script repeatedly until its result is as wanted.
    pub(crate) async fn until(&self, script: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            let given = self.run(script).await;
            if is_wanted(&given) {
                return given;
            }
            assert!(start.elapsed() < TIMEOUT, "{script}: {given}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Clicks an element, after unfolding the groups that contain it.
    pub(crate) async fn click(&self, selector: &str) {
        let element = serde_json::to_string(selector).unwrap();
        let folded = format!(
            "for (let group = document.querySelector({element})?.closest('details:not([open])'); group; \
                  group = group.parentElement.closest('details:not([open])')) group.open = true"
        );
        self.run(&folded).await;
        let found = self
            .client
            .wait()
            .for_element(Locator::Css(selector))
            .await
            .unwrap();
        found.click().await.unwrap();
    }

    /// Presses keys without focusing an element first.
    pub(crate) async fn press(&self, keys: &str) {
        let body = self.client.active_element().await.unwrap();
        body.send_keys(keys).await.unwrap();
    }

    /// Waits for a message that the page has displayed since the last input and since the last message that was waited
    /// for. The message may have disappeared.
    pub(crate) async fn wait_for_message(&self, is_wanted: impl Fn(&str) -> bool) {
        let find = |texts: &Value| {
            let mut texts = texts.as_array().unwrap().iter();
            texts.position(|text| is_wanted(text.as_str().unwrap()))
        };
        let texts = self
            .until("return window.shownMessages", |texts| find(texts).is_some())
            .await;
        let count = find(&texts).unwrap() + 1;
        self.run(&format!("window.shownMessages.splice(0, {count})"))
            .await;
    }

    /// Waits until an element has this text. A message can disappear before that: see
    /// [`wait_for_message`](Self::wait_for_message).
    pub(crate) async fn wait_for_text(&self, selector: &str, wanted: &str) {
        let script = format!("return document.querySelector('{selector}').textContent");
        self.until(&script, |text| text == wanted).await;
    }

    /// Returns left, top, width and height of the picture's element.
    pub(crate) async fn picture(&self) -> [f64; 4] {
        self.place("#picture").await
    }

    /// Scrolls an element into view once it is there. Returns its left, top, width and height.
    pub(crate) async fn place(&self, selector: &str) -> [f64; 4] {
        let script = format!(
            "const element = document.querySelector('{selector}'); \
             if (!element?.checkVisibility()) return null; \
             element.scrollIntoView({{ block: 'nearest' }}); \
             const {{x, y, width, height}} = element.getBoundingClientRect(); \
             return [x, y, width, height]"
        );
        let place = self.until(&script, Value::is_array).await;
        serde_json::from_value(place).unwrap()
    }

    /// Drags with the left button; positions are fractions of the picture's size.
    pub(crate) async fn drag(&self, from: (f64, f64), to: (f64, f64)) {
        let [left, top, width, height] = self.picture().await;
        let place = |(x, y): (f64, f64)| (left + x * width, top + y * height);
        self.drag_along(&[place(from), place(to)], Duration::ZERO)
            .await;
    }

    /// Drags with the left button from the first of these positions on the page to the others, and rests at each.
    pub(crate) async fn drag_along(&self, places: &[(f64, f64)], rest: Duration) {
        let mut hand = MouseActions::new("mouse".to_owned());
        for (number, &(x, y)) in places.iter().enumerate() {
            let milliseconds = if number == 0 { 0 } else { 200 };
            hand = hand.then(PointerAction::MoveTo {
                duration: Some(Duration::from_millis(milliseconds)),
                x,
                y,
            });
            if number == 0 {
                hand = hand.then(PointerAction::Down {
                    button: MOUSE_BUTTON_LEFT,
                });
            }
            hand = hand.then(PointerAction::Pause { duration: rest });
        }
        hand = hand.then(PointerAction::Up {
            button: MOUSE_BUTTON_LEFT,
        });
        self.client.perform_actions(hand).await.unwrap();
    }

    /// Returns a reduced screenshot of the picture, so that noise averages out.
    async fn screenshot(&self) -> RgbImage {
        let shot = self
            .client
            .find(Locator::Id("picture"))
            .await
            .unwrap()
            .screenshot()
            .await
            .unwrap();
        let shot = image::load_from_memory(&shot).unwrap().into_rgb8();
        image::imageops::thumbnail(&shot, 64, 48)
    }

    pub(crate) async fn wait_for_screenshot(
        &self,
        is_wanted: impl Fn(&RgbImage) -> bool,
    ) -> RgbImage {
        let start = Instant::now();
        loop {
            let screenshot = self.screenshot().await;
            if is_wanted(&screenshot) {
                return screenshot;
            }
            assert!(
                start.elapsed() < TIMEOUT,
                "the page does not show the expected picture"
            );
        }
    }

    /// Returns the picture after the render has completed. An earlier picture of the same view has more noise, and can
    /// differ from it as much as that of another view.
    pub(crate) async fn still(&self) -> RgbImage {
        let mut last = self.screenshot().await;
        self.wait_for_text("#state", "done").await;
        let start = Instant::now();
        loop {
            let screenshot = self.screenshot().await;
            let is_drawn =
                (screenshot.pixels()).any(|pixel| pixel[0] != screenshot.get_pixel(0, 0)[0]);
            if is_drawn && screenshot == last {
                return screenshot;
            }
            last = screenshot;
            assert!(start.elapsed() < TIMEOUT, "the picture of the page changes");
        }
    }

    /// Returns the picture after it differs from that of another view and its render has completed.
    pub(crate) async fn still_unlike(&self, other: &RgbImage) -> RgbImage {
        self.wait_for_screenshot(|screenshot| difference(screenshot, other) > ALIKE)
            .await;
        self.still().await
    }
}
