//! A law as somebody asks for it, with its settings as fixed-point numbers.

use narrows_control::laws::{bic, etcp, fast, highspeed, htcp, ltcp, scalable};
use narrows_control::registry::{self, Birth};
use narrows_settings::{Given, SettingError, Settings};

/// How the kernel's names of our laws begin.
pub const PREFIX: &str = "nw_";
/// The laws that there are for the kernel.
pub const LAWS: [&str; 8] =
    ["bic", "etcp", "etcp-rate", "fast", "highspeed", "htcp", "ltcp", "scalable"];

/// The largest window that the kernel's laws can do, in packets.
const MOST_WINDOW: f64 = 1e6;
/// Binary digits behind the point.
const BITS: i32 = 32;

/// A law with settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// One of [`LAWS`].
    pub law: &'static str,
    /// What was given, as `name=value`.
    pub given: Vec<String>,
    /// The fields of the law's `struct …_settings`, in order.
    pub settings: Vec<u64>,
}

impl Asked {
    /// Reads `law:name=value:…`. Fails if there is no such law for the kernel, or if a setting is
    /// not one that the kernel's law can do.
    pub fn parse(text: &str) -> Result<Self, SettingError> {
        let mut parts = text.split(':');
        let law = parts.next().unwrap_or_default().trim();
        Self::new(law, &Given::parse(parts)?)
    }

    /// The law of that name with the settings `given`; fails as [`parse`](Self::parse) does.
    pub fn new(law: &str, given: &Given) -> Result<Self, SettingError> {
        // Its name in the kernel is as good.
        let plain = law.strip_prefix(PREFIX).map(|symbol| symbol.replace('_', "-"));
        let entry = registry::find(plain.as_deref().unwrap_or(law)).ok();
        let found = entry.and_then(|entry| {
            LAWS.iter().find(|known| **known == entry.name).map(|law| (entry, law))
        });
        let Some((entry, law)) = found else {
            let known = LAWS.join(", ");
            let message = format!("\"{law}\" is no law of narrows for the kernel; known: {known}");
            return Err(SettingError::new(message));
        };
        entry.read(&Birth { given: given.clone(), ..Birth::default() })?;
        let settings = match *law {
            "bic" => bic(&bic::Params::read(given)?),
            "etcp" | "etcp-rate" => etcp(&etcp::Params::read(given)?),
            "fast" => fast(&fast::Params::read(given)?),
            "highspeed" => highspeed(&highspeed::Params::read(given)?),
            "htcp" => htcp(&htcp::Params::read(given)?),
            "ltcp" => ltcp(&ltcp::Params::read(given)?),
            _ => scalable(&scalable::Params::read(given)?),
        }?;
        let given = given.pairs().map(|(name, value)| format!("{name}={value}")).collect();
        Ok(Self { law, given, settings })
    }

    /// Its name in the kernel if no other is asked for: `nw_etcp_rate`.
    pub fn kernel_name(&self) -> String {
        format!("{PREFIX}{}", self.symbol())
    }

    /// Its name in C: `etcp_rate`.
    pub fn symbol(&self) -> String {
        self.law.replace('-', "_")
    }

    /// True if each loss counts and gaps are exponential: segments should then leave one by one.
    pub fn is_paced(&self) -> bool {
        self.law.starts_with("etcp")
    }
}

/// `value` with [`BITS`] behind the point. Fails above `most`.
fn fixed(name: &str, value: f64, most: f64) -> Result<u64, SettingError> {
    scaled(name, value, most, 2.0_f64.powi(BITS))
}

/// A ratio below 1.
fn share(value: f64) -> u64 {
    (value * 2.0_f64.powi(BITS)).round().min(2.0_f64.powi(BITS) - 1.0) as u64
}

/// `value` times `scale`. Fails above `most`.
fn scaled(name: &str, value: f64, most: f64, scale: f64) -> Result<u64, SettingError> {
    if value > most {
        let message =
            format!("{name}: {value} is above {most}, the most that the kernel's law can do");
        return Err(SettingError::new(message));
    }
    Ok((value * scale).round() as u64)
}

fn bic(params: &bic::Params) -> Result<Vec<u64>, SettingError> {
    Ok(vec![
        share(params.beta),
        fixed("low_window", params.low_window, MOST_WINDOW)?,
        fixed("max_increment", params.max_increment, MOST_WINDOW)?,
        fixed("smooth_part", 4.0 / params.smooth_part, 1.0)?,
        u64::from(params.fast_convergence),
        fixed("delayed_ack", params.delayed_ack, 16.0)?,
    ])
}

fn etcp(params: &etcp::Params) -> Result<Vec<u64>, SettingError> {
    if params.start != etcp::Params::default().start {
        let message =
            "start: the kernel's law ends slow start at the first loss only; leave it out";
        return Err(SettingError::new(message));
    }
    let b = fixed("b", params.b, 2.0_f64.powi(20))?;
    Ok(vec![share(params.p0), b, fixed("rtt_scale", params.rtt_scale, 100.0)?])
}

fn fast(params: &fast::Params) -> Result<Vec<u64>, SettingError> {
    Ok(vec![
        fixed("alpha", params.alpha, MOST_WINDOW)?,
        fixed("gamma", params.gamma, 1.0)?,
        scaled("mi_threshold", params.mi_threshold, 10.0, 1e6 * 2.0_f64.powi(20))?,
    ])
}

fn highspeed(params: &highspeed::Params) -> Result<Vec<u64>, SettingError> {
    let low_p = 1.5 / (params.low_window * params.low_window);
    if params.high_p > low_p {
        let message = format!(
            "high_p: {} is above {low_p:.2e}, the loss rate at low_window; the kernel's law needs \
             it below",
            params.high_p
        );
        return Err(SettingError::new(message));
    }
    Ok(vec![
        fixed("low_window", params.low_window, MOST_WINDOW)?,
        fixed("high_window", params.high_window, MOST_WINDOW)?,
        fixed("low_window", params.low_window.log2(), 20.0)?,
        fixed("high_window", (params.high_window / params.low_window).log2(), 20.0)?.max(1),
        fixed("low_window", (-low_p.log2()).max(0.0), 64.0)?,
        fixed("high_p", (low_p / params.high_p).log2(), 64.0)?,
        share(0.5 - params.high_decrease),
    ])
}

fn htcp(params: &htcp::Params) -> Result<Vec<u64>, SettingError> {
    let (seconds, alpha) = (2.0_f64.powi(30) / 1e6, 2.0_f64.powi(20));
    let reset = if params.reset.is_finite() {
        scaled("reset", params.reset, 32768.0, 65536.0)?.max(1)
    } else {
        0
    };
    let high_speed = params.high_speed();
    Ok(vec![
        scaled("delta_l", params.delta_l, seconds, 1e6)?,
        scaled("a0", params.a0, MOST_WINDOW, alpha)?,
        scaled("a1", params.a1, MOST_WINDOW, alpha)?,
        scaled("a2", params.a2, MOST_WINDOW, alpha)?,
        u64::from(params.adaptive),
        share(params.beta),
        share(params.beta_max),
        reset,
        u64::from(params.throughput_ratio),
        u64::from(params.rtt_scaling),
        if high_speed.is_finite() {
            scaled("convergence", high_speed, 1e6, 1e6)?.max(1)
        } else {
            0
        },
    ])
}

fn ltcp(params: &ltcp::Params) -> Result<Vec<u64>, SettingError> {
    let beta = params.beta.unwrap_or(if params.geometric { 0.5 } else { 0.15 });
    Ok(vec![
        fixed("w_t", params.w_t, MOST_WINDOW)?,
        share(beta),
        if params.geometric { fixed("alpha", params.alpha, 256.0)? } else { 0 },
        u64::from(params.by_layer),
    ])
}

fn scalable(params: &scalable::Params) -> Result<Vec<u64>, SettingError> {
    Ok(vec![fixed("a", params.a, 1.0)?, share(params.b)])
}
