#[path = "../tests/common/mod.rs"]
mod common;
use common::*;
use narrows_units::*;
use narrows_transport::tcp::*;
use narrows_sim::*;
fn mrg(n: usize, spread: f64) -> Vec<Duration> {
    let (m1, m2) = (4294967087i64, 4294944443i64);
    let mut a=[1i64;3]; let mut b=[1i64;3];
    (0..n).map(|_| { let p1=(1403580*a[1]-810728*a[0]).rem_euclid(m1); a=[a[1],a[2],p1]; let p2=(527612*b[2]-1370589*b[0]).rem_euclid(m2); b=[b[1],b[2],p2];
      let d = if p1>p2 {p1-p2} else {p1-p2+m1}; Duration::from_secs(spread*d as f64/4294967088.0) }).collect()
}
fn main() {
    let a: std::collections::BTreeMap<String,String> = std::env::args().skip(1).filter_map(|x| x.split_once('=').map(|(k,v)|(k.to_string(),v.to_string()))).collect();
    let g = |k:&str,d:f64| a.get(k).map(|v|v.parse::<f64>().unwrap()).unwrap_or(d);
    let ms = |x:f64| Duration::from_secs(x/1e3);
    let proto = a.get("proto").cloned().unwrap_or("sack".into());
    let habits = if proto=="cubic" { Habits{ timestamps:true, prr:true, ..Habits::NS2 } } else { Habits::NS2 };
    let d = Dumbbell { rate: Rate::from_bits_per_second((g("bw",100.)*1e6) as u64).unwrap(), rtt: ms(g("rtt",100.)), rtt_step: ms(g("drtt",0.)), buffer: g("buf",20.) as u64, flows: g("n",1.) as u32, reverse_flows: g("rev",0.) as u32,
      parameters: if proto=="cubic" { vec![("beta",g("beta",0.8)),("s_max",g("smax",160.))] } else {vec![]}, law: if proto=="cubic" {"cubic"} else {"reno"}, recovery: match proto.as_str() {"reno"=>RecoveryKind::Reno,"newreno"=>RecoveryKind::NewReno,_=>RecoveryKind::Sack}, habits,
      overhead: Duration::from_secs(g("jitter",0.)), start_spread: Duration::from_secs(g("start",0.1)), duration: Duration::from_secs(g("dur",100.)), warmup: Duration::from_secs(g("warm",20.)), seed: g("seed",1.) as u64, eager: g("eager",1.)>0.,
      starts: mrg(200, g("start",0.1)), sampled: a.get("sample").map(|v| ms(v.parse().unwrap())),
      ..Dumbbell::default() };
    let sim = d.run();
    let l = sim.link(BOTTLENECK);
    let gp: Vec<f64> = (0..d.flows as usize).map(|f| sim.flow(f).arrived as f64*8e3/(d.duration.seconds()-d.warmup.seconds())/1e6).collect();
    let s1: f64 = gp.iter().sum(); let s2: f64 = gp.iter().map(|x|x*x).sum();
    let to: u32 = (0..d.flows as usize).map(|f| sim.flow(f).sender.timeouts).sum();
    let ep: u32 = (0..d.flows as usize).map(|f| sim.flow(f).sender.epochs).sum();
    println!("{{\"util\":{:.4},\"loss\":{:.3e},\"goodput\":{:.4},\"jain\":{:.4},\"mq\":{:.3},\"max\":{},\"timeouts\":{to},\"epochs\":{ep},\"arrivals\":{}}}", l.utilisation, l.drops as f64/(l.arrivals as f64).max(1.), s1, s1*s1/(gp.len() as f64*s2), l.mean_queue-l.utilisation, l.max_queue.unwrap(), l.arrivals);
    if a.contains_key("sample") { let (s,_) = sim.flow_series(0).unwrap(); for (i,w) in s.window.iter().enumerate() { println!("{:.3} {:.2} {:.2} {}", i as f64*g("sample",10.)/1e3, w, s.ssthresh[i], s.in_flight[i]); } }
}
