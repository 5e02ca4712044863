//! The laws that there are for the kernel, a line each, and their settings as fixed-point numbers
//! in the order of their `struct …_settings`.

use narrows_control::laws::{bic, etcp, fast, highspeed, htcp, ltcp, scalable};
use narrows_settings::{Given, SettingError, Settings};

/// A law that there is for the kernel.
pub(crate) struct Ported {
    /// Its name in the registry.
    pub name: &'static str,
    /// The fields of its `struct …_settings`, in order. Fails if a setting is not one that the
    /// kernel's law can do.
    pub settings: fn(&Given) -> Result<Vec<u64>, SettingError>,
    /// The program, compiled from `bpf/` by `make objects`.
    #[cfg(feature = "bpf")]
    pub program: &'static [u8],
}

/// Makes the table of the laws: name, name in C, settings.
macro_rules! ported {
    ($($name:literal $symbol:literal $settings:path;)+) => {
        /// The laws that there are for the kernel, with what is needed of each.
        pub(crate) static PORTED: &[Ported] = &[$(Ported {
            name: $name,
            settings: $settings,
            #[cfg(feature = "bpf")]
            program: include_bytes!(concat!("../objects/", $symbol, ".bpf.o")),
        }),+];
        /// The laws that there are for the kernel.
        pub const LAWS: [&str; [$($name),+].len()] = [$($name),+];
    };
}

ported! {
    "bic" "bic" bic;
    "etcp" "etcp" etcp;
    "etcp-rate" "etcp_rate" etcp_rate;
    "fast" "fast" fast;
    "highspeed" "highspeed" highspeed;
    "htcp" "htcp" htcp;
    "ltcp" "ltcp" ltcp;
    "scalable" "scalable" scalable;
}

/// The largest window that the kernel's laws can do, in packets.
const MOST_WINDOW: f64 = 1e6;
/// Binary digits behind the point.
const BITS: i32 = 32;

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

fn bic(given: &Given) -> Result<Vec<u64>, SettingError> {
    let params = bic::Params::read(given)?;
    Ok(vec![
        share(params.beta),
        fixed("low_window", params.low_window, MOST_WINDOW)?,
        fixed("max_increment", params.max_increment, MOST_WINDOW)?,
        fixed("smooth_part", 4.0 / params.smooth_part, 1.0)?,
        u64::from(params.fast_convergence),
        fixed("delayed_ack", params.delayed_ack, 16.0)?,
    ])
}

fn etcp(given: &Given) -> Result<Vec<u64>, SettingError> {
    if etcp::Params::read(given)?.rtt_scale != etcp::Params::default().rtt_scale {
        let message = "rtt_scale: the kernel's etcp spaces packets by the RTT itself; leave it out, \
                       or take etcp-rate";
        return Err(SettingError::new(message));
    }
    etcp_rate(given)
}

fn etcp_rate(given: &Given) -> Result<Vec<u64>, SettingError> {
    let params = etcp::Params::read(given)?;
    if params.start != etcp::Params::default().start {
        let message =
            "start: the kernel's law ends slow start at the first loss only; leave it out";
        return Err(SettingError::new(message));
    }
    let b = fixed("b", params.b, 2.0_f64.powi(20))?;
    Ok(vec![share(params.p0), b, fixed("rtt_scale", params.rtt_scale, 100.0)?])
}

fn fast(given: &Given) -> Result<Vec<u64>, SettingError> {
    let params = fast::Params::read(given)?;
    Ok(vec![
        fixed("alpha", params.alpha, MOST_WINDOW)?,
        fixed("gamma", params.gamma, 1.0)?,
        scaled("mi_threshold", params.mi_threshold, 10.0, 1e6 * 2.0_f64.powi(20))?,
    ])
}

fn highspeed(given: &Given) -> Result<Vec<u64>, SettingError> {
    let params = highspeed::Params::read(given)?;
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

fn htcp(given: &Given) -> Result<Vec<u64>, SettingError> {
    let params = htcp::Params::read(given)?;
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

fn ltcp(given: &Given) -> Result<Vec<u64>, SettingError> {
    let params = ltcp::Params::read(given)?;
    let beta = params.beta.unwrap_or(if params.geometric { 0.5 } else { 0.15 });
    Ok(vec![
        fixed("w_t", params.w_t, MOST_WINDOW)?,
        share(beta),
        if params.geometric { fixed("alpha", params.alpha, 256.0)? } else { 0 },
        u64::from(params.by_layer),
    ])
}

fn scalable(given: &Given) -> Result<Vec<u64>, SettingError> {
    let params = scalable::Params::read(given)?;
    Ok(vec![fixed("a", params.a, 1.0)?, share(params.b)])
}
