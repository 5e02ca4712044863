"""Environments: Gymnasium's and PettingZoo's checks, seeds, numbers against their sources."""

from __future__ import annotations

import json
import os
import pickle
import runpy
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import RecordEpisodeStatistics
from pettingzoo.test import parallel_api_test, parallel_seed_test

import narrows as nw
import narrows.gym as ng
from binary import BINARY, ROOT
from narrows import _core
from narrows.errors import Error
from narrows.gym.rewards import Rows

COLUMNS = _core.Intervals.columns()
PRESETS = ["aurora", "orca", "plain"]


def noise(seed: int, *shape: int) -> np.ndarray:
    """Actions that are drawn."""
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("preset", PRESETS)
def test_gymnasium_finds_nothing_wrong(preset: str) -> None:
    with warnings.catch_warnings():
        # Aurora's actions are not from -1 to 1.
        warnings.filterwarnings("ignore", ".*symmetric and normalized.*")
        check_env(ng.Env(preset=preset), skip_render_check=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*symmetric and normalized.*")
        made = gym.make(f"narrows/{preset.capitalize()}-v0")
        check_env(made.unwrapped, skip_render_check=True)


def test_pettingzoo_finds_nothing_wrong() -> None:
    parallel_api_test(ng.ParallelEnv(agents=3, interval="30ms", steps=40), num_cycles=100)
    parallel_seed_test(lambda: ng.ParallelEnv(agents=2, interval="30ms", steps=40))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("preset", PRESETS)
def test_each_place_is_the_environment_of_its_seed(preset: str, threads: int) -> None:
    """Bit by bit, over the ends of episodes, however many step them."""
    envs = ng.VectorEnv(num_envs=3, preset=preset, steps=7, threads=threads)
    alone = [ng.Env(preset=preset, steps=7) for _ in range(3)]
    seen, _ = envs.reset(seed=41)
    for place, env in enumerate(alone):
        np.testing.assert_array_equal(seen[place], env.reset(seed=41 + place)[0])
    over = [False] * 3
    for step in range(20):
        actions = noise(step, 3, 1)
        seen, rewards, _, truncated, _ = envs.step(actions)
        for place, env in enumerate(alone):
            if over[place]:
                one, reward, over[place] = env.reset()[0], 0.0, False
            else:
                one, reward, _, over[place], _ = env.step(actions[place])
            np.testing.assert_array_equal(seen[place], one)
            assert (rewards[place], truncated[place]) == (reward, over[place])


def test_three_ways_to_begin_anew() -> None:
    def envs(mode: AutoresetMode) -> ng.VectorEnv:
        return ng.VectorEnv(num_envs=2, preset="plain", steps=3, autoreset=mode)

    same, later, by_hand = (
        envs(mode)
        for mode in (AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED)
    )
    for one in (same, later, by_hand):
        one.reset(seed=5)
    for step in range(3):
        actions = noise(step, 2, 1)
        of_same, of_later, of_hand = (one.step(actions) for one in (same, later, by_hand))
        np.testing.assert_array_equal(of_same[1], of_later[1])
        np.testing.assert_array_equal(of_same[1], of_hand[1])
    assert of_same[3].all() and of_later[3].all()
    # The last of the episode in one, the first of the next in the other.
    for place in range(2):
        np.testing.assert_array_equal(of_same[4]["final_obs"][place], of_later[0][place])
    assert set(of_same[4]["final_info"]) >= {"capacity", "reward_terms"}
    begun = later.step(noise(9, 2, 1))
    np.testing.assert_array_equal(of_same[0], begun[0])
    assert not begun[1].any()
    with pytest.raises(Error, match=r"places \[0, 1\] are over; reset with reset_mask"):
        by_hand.step(noise(9, 2, 1))
    seen, _ = by_hand.reset(options={"reset_mask": np.array([True, True])})
    np.testing.assert_array_equal(seen, begun[0])


def test_an_episode_is_a_run_that_others_can_make() -> None:
    env = ng.Env(preset="plain", steps=50)
    _, info = env.reset(seed=3)
    sums = np.zeros(len(COLUMNS))
    for step in range(50):
        *_, told = env.step(noise(step, 1))
        sums += told["row"]
    flow = env.result().flows.row(0, named=True)
    # What came before the first decision is in the run, and not in the sums.
    for name in ("sent", "lost", "timeouts"):
        assert 0 <= flow[name] - sums[COLUMNS.index(name)] < 0.2 * flow[name] + 60
    again = nw.Scenario.from_toml(info["scenario"])
    assert again.buffers == env.scenario.buffers
    assert again.fields["dumbbell"]["rate"] == info["dumbbell.rate"]
    assert pickle.loads(pickle.dumps(env)).reset(seed=3)[1] == info


def test_rewards_are_their_terms_and_the_truth_is_in_info() -> None:
    env = RecordEpisodeStatistics(ng.Env(preset="aurora", steps=5))
    env.reset(seed=1)
    for _ in range(5):
        *_, over, info = (found := env.step(np.zeros(1, np.float32)))
        assert sum(info["reward_terms"].values()) == pytest.approx(found[1])
        assert info["flows"] == 1 and info["capacity"] > 0
    assert over and info["episode"]["l"] == 5
    wrapped = ng.Truth(ng.Env(preset="aurora"))
    seen, info = wrapped.reset(seed=1)
    assert seen[30] == np.float32(info["capacity"])


def test_many_places_show_the_truth_as_one_does() -> None:
    places = ng.VectorTruth(
        ng.VectorEnv(num_envs=3, preset="plain", steps=4, autoreset=AutoresetMode.SAME_STEP)
    )
    alone = ng.Truth(ng.Env(preset="plain", steps=4))
    seen, _ = places.reset(seed=5)
    first, _ = alone.reset(seed=6)
    assert seen.shape == (3, 55) and (seen[1] == first).all()
    for _ in range(4):
        seen, *_, info = places.step(np.zeros((3, 1), np.float32))
        one, *_ = alone.step(np.zeros(1, np.float32))
    assert (info["final_obs"][1] == one).all(), "the truth of the episode that is over"
    assert places.observation_space.contains(seen)


def test_a_share_is_rewarded_up_to_what_is_fair() -> None:
    rows = Rows(COLUMNS, interval(acked=98, lost=2, delivery_rate=150.0))
    truth = Rows(["fair_share"], np.array([[100.0]]))
    terms = ng.rewards.Share().terms([0], rows, truth)
    assert {name: float(term[0]) for name, term in terms.items()} == {
        "use": 1.0,
        "excess": -0.5,
        "loss": -0.04,
    }


def test_gymnasium_imports_what_an_id_names() -> None:
    env = "gymnasium.make('narrows.gym:narrows/Plain-v0')"
    made = f"import gymnasium; print({env}.observation_space.shape)"
    done = subprocess.run([sys.executable, "-c", made], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(48,)"


def interval(**given: float) -> np.ndarray:
    row = np.zeros((1, len(COLUMNS)))
    for name, value in given.items():
        row[0, COLUMNS.index(name)] = value
    return row


def seen_by(preset: str, count: int, *rows: np.ndarray) -> tuple[Any, np.ndarray]:
    """What an agent sees of the last interval."""
    agents = _core.Agents(preset, 1)
    agents.begin(0, 100.0, 0.1)
    seen = np.empty((1, ng.preset_of(preset).observation_space.shape[0]), np.float32)
    for row in rows:
        agents.observe([0], row)
    agents.seen([0], seen)
    return agents, seen[0, -count:]


def test_aurora_sees_what_sender_obs_says() -> None:
    """100 sent and 81 acknowledged in half a second, RTTs of 0.1 and 0.14 s (0.11 before).

    Inflation (0.14 − 0.1)/0.5, the mean over the least mean, and 100/(81 − 1): a packet's bytes are
    taken off in ``_mi_metric_recv_rate``.
    """
    before = interval(duration=0.5, sent=50, acked=50, rtt=0.11, rtt_samples=50)
    now = interval(duration=0.5, sent=100, acked=81, rtt=0.121, rtt_samples=80, rtt_increase=0.04)
    agents, seen = seen_by("aurora", 3, before, now)
    np.testing.assert_allclose(seen, [0.08, 1.1, 1.25], rtol=1e-6)
    wanted = np.empty((1, 3))
    agents.act([0], np.array([4.0], np.float32), wanted)
    np.testing.assert_allclose(wanted[0, 1:], [100 * 1.1, 0.0605])
    agents.act([0], np.array([-4.0], np.float32), wanted)
    np.testing.assert_allclose(wanted[0, 1], 100.0)
    agents.act([0], np.array([-1e9], np.float32), wanted)
    np.testing.assert_allclose(wanted[0, 1], 50.0)
    start = seen_by("aurora", 30)[1]
    np.testing.assert_array_equal(start, [0, 1, 1] * 10)


def test_orca_sees_what_envwrapper_says() -> None:
    """500 packets/s of at most 1000; 20 packets of window over 50 ms, the least 25 ms; 1 lost."""
    most = interval(duration=0.02, delivery_rate=1000, window=20, srtt=0.02, conn_min_rtt=0.02)
    now = interval(
        duration=0.02,
        delivery_rate=500,
        window=20,
        srtt=0.05,
        conn_min_rtt=0.025,
        lost=1,
        rtt_samples=10,
    )
    agents, seen = seen_by("orca", 7, most, now)
    np.testing.assert_allclose(
        seen, [0.5, 1.2 * 20 / 0.05 / 1000, 5 * 50 / 1000, 0.5, 0.02, 0.5, 0.625], rtol=1e-6
    )
    wanted = np.empty((1, 3))
    # ⌊100 · 4^0.3⌋ = 151 hundredths of 20 packets are ⌊30.2⌋.
    for action, window in ((0.3, 30.0), (-1.0, 5.0), (1.0, 80.0)):
        agents.act([0], np.array([action], np.float32), wanted)
        assert (wanted[0, 0], wanted[0, 2]) == (window, 0.02)


def test_rewards_by_hand() -> None:
    rows = interval(duration=0.5, acked=101, lost=25, rtt=0.2, delivery_rate=202)[0]
    learnt = ng.rewards.Rows(COLUMNS, rows[np.newaxis])
    terms = ng.rewards.Aurora().terms([0], learnt, learnt)
    # 10⁻³ · (10 · 200 − 10³ · 0.2 − 2 · 10³ · 25/126).
    assert sum(float(it[0]) for it in terms.values()) == pytest.approx(2 - 0.2 - 2 * 25 / 126)


def test_several_agents_and_flows_of_laws() -> None:
    """One of three learners comes later; CUBIC is beside them."""
    base = nw.Scenario(
        duration="20s",
        warmup="0s",
        sample="0s",
        dumbbell={"rate": "24Mbps", "rtt": "40ms", "buffer": "40p"},
        flows=[{"cc": "cubic"}, {"cc": "learner", "count": 2}, {"cc": "learner", "start": "1s"}],
    )
    env = ng.ParallelEnv(ng.Draw({}, base), agents=3, interval="100ms", steps=30)
    _, infos = env.reset(seed=1)
    assert [infos[agent]["started"] for agent in env.agents] == [True, True, False]
    for _ in range(30):
        _, _, ended, over, infos = env.step({agent: [0.0] for agent in env.agents})
    assert all(over.values()) and not any(ended.values()) and env.agents == []
    assert infos["flow_2"]["started"] and infos["flow_2"]["flows"] == 4
    flows = env.result().flows
    assert flows["cc"].to_list() == ["cubic", "learner", "learner", "learner"]


def test_a_finite_flow_terminates() -> None:
    base = nw.dumbbell(
        "10Mbps", "40ms", "20p", "learner", size="300kB", duration="60s", warmup="0s", sample="0s"
    )
    env = ng.Env(ng.Draw({}, base), preset="plain", steps=300)
    env.reset(seed=1)
    terminated = truncated = False
    while not (terminated or truncated):
        _, _, terminated, truncated, _ = env.step(np.zeros(1, np.float32))
    assert terminated and not truncated


def test_links_that_change_are_the_truth() -> None:
    base = nw.dumbbell(
        "10Mbps",
        "40ms",
        "40p",
        "learner",
        duration="60s",
        warmup="0s",
        sample="0s",
        changes=[{"at": "2s", "rate": "5Mbps"}],
    )
    env = ng.Env(ng.Draw({}, base), preset="plain", interval=0.5, steps=10)
    env.reset(seed=1)
    capacities = [env.step(np.zeros(1, np.float32))[4]["capacity"] for _ in range(10)]
    assert capacities[0] == pytest.approx(10e6 / 12000)
    assert capacities[-1] == pytest.approx(5e6 / 12000)


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(Error, match='no preset "arora"; known: aurora, orca, plain'):
        ng.Env(preset="arora")
    with pytest.raises(Error, match="2 flows learn, and there are 1 agents"):
        ng.Env(ng.Draw({"flows[0].count": 2})).reset(seed=1)
    with pytest.raises(Error, match="nobody learns"):
        ng.Env(ng.Draw({"flows[0].cc": "cubic"})).reset(seed=1)
    with pytest.raises(Error, match='"10ms" and "2Mbps" are not of one unit'):
        ng.uniform("10ms", "2Mbps")
    with pytest.raises(Error, match="learns over one connection"):
        ng.Env(ng.Draw({"flows[0].files": {"off": "1s"}})).reset(seed=1)
    env = ng.Env(preset="plain")
    env.reset(seed=1)
    with pytest.raises(Error, match="the action is not a number"):
        env.step(np.array([np.nan], np.float32))


def test_without_gymnasium_the_extra_is_named() -> None:
    code = "import sys; sys.modules['gymnasium'] = None\nimport narrows.gym"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert 'install it with pip install "narrows[gym]"' in ran.stderr


def test_a_policy_acts_as_in_its_environment(tmp_path: Path) -> None:
    """A file, read again, in a run: beside laws, in threads, the same each time."""
    draws = np.random.default_rng(1)
    layers = [
        (draws.normal(size=(16, 48)) / 7, draws.normal(size=16)),
        (draws.normal(size=(1, 16)) / 4, np.zeros(1)),
    ]
    policy = nw.Policy("plain", layers, name="drawn")
    policy.save(tmp_path / "drawn.npz")
    read = nw.Policy.load(tmp_path / "drawn.npz")
    assert read.digest == policy.digest and pickle.loads(pickle.dumps(read)) == read
    seen = draws.normal(size=(5, 48)).astype(np.float32)
    hidden = np.tanh(seen @ layers[0][0].T.astype(np.float32) + layers[0][1].astype(np.float32))
    by_hand = hidden @ layers[1][0].T.astype(np.float32)
    np.testing.assert_allclose(read.says(seen), by_hand, rtol=1e-4, atol=1e-5)
    path = nw.dumbbell(
        "20Mbps", "40ms", "40p", flows=[{"cc": policy}, {"cc": "cubic"}], duration="10s"
    )
    one, two = nw.run(path), nw.run(path)
    assert one.flows.equals(two.flows)
    assert one.flows["cc"].to_list() == ["policy:drawn", "cubic"]
    assert one.flows["goodput"][0] > 0
    compared = nw.compare(nw.dumbbell("20Mbps", "40ms", "40p", duration="5s"), ["cubic", policy])
    assert compared.summary["cc"].to_list() == ["cubic", "policy:drawn"]


@pytest.mark.parametrize(
    ("broken", "says"),
    [(b"", "not a policy"), (b"PK\x03\x04 no", "not a policy"), (b"x" * 1000, "not a policy")],
)
def test_files_that_are_no_policies(tmp_path: Path, broken: bytes, says: str) -> None:
    (tmp_path / "p.npz").write_bytes(broken)
    with pytest.raises(Error, match=says):
        nw.Policy.load(tmp_path / "p.npz")
    with pytest.raises(Error, match="layer 0: 5 weights for 48 inputs and 1 outputs"):
        nw.Policy("plain", [(np.zeros((1, 5)), np.zeros(1))])


def test_a_search_learns_to_use_its_link() -> None:
    """Cross-entropy over a linear policy of three numbers finds the rate, on links not seen."""
    links = ng.Draw(
        {"dumbbell.rate": ng.log_uniform("2Mbps", "50Mbps"), "dumbbell.buffer": "1bdp"},
        start=ng.uniform(0.3, 1.5),
    )
    chance = np.random.default_rng(3)

    def worth(weights: np.ndarray, seed: int, count: int = 8) -> float:
        envs = ng.VectorEnv(links, count, preset="plain", steps=40)
        seen, _ = envs.reset(seed=seed)
        total = 0.0
        for _ in range(40):
            newest = seen[:, -6:]
            said = weights[0] + weights[1] * newest[:, 0] + weights[2] * newest[:, 3]
            seen, rewards, *_ = envs.step(np.clip(said, -1, 1)[:, np.newaxis].astype(np.float32))
            total += float(rewards.mean())
        return total / 40

    mean, spread = np.zeros(3), np.array([0.5, 3.0, 3.0])
    for round_ in range(6):
        tried = mean + spread * chance.normal(size=(16, 3))
        worths = [worth(weights, 100 + round_) for weights in tried]
        best = tried[np.argsort(worths)[-4:]]
        mean, spread = best.mean(axis=0), best.std(axis=0) + 0.02
    still, learnt = worth(np.zeros(3), 5000, 16), worth(mean, 5000, 16)
    assert learnt > still + 0.1, (still, learnt, mean)


def base(flows: list[dict[str, Any]] | None = None, **more: Any) -> nw.Scenario:
    bottleneck = {"rate": "10Mbps", "rtt": "40ms", "buffer": "40p"}
    fields: dict[str, Any] = {"duration": "600s", "warmup": "0s", "sample": "0s"}
    return nw.Scenario(**(fields | more), dumbbell=bottleneck, flows=flows or [{"cc": "learner"}])


def test_the_last_interval_ends_with_the_scenario() -> None:
    env = ng.Env(base(duration="1050ms"), preset="plain", interval="100ms")
    env.reset(seed=1)
    sent, over = 0.0, False
    while not over:
        _, _, _, over, info = env.step(np.zeros(1, np.float32))
        sent += info["row"][COLUMNS.index("sent")]
    assert info["row"][0] == pytest.approx(1.05) and info["row"][2] > 0
    flow = env.result().flows.row(0, named=True)
    assert flow["sent"] - sent < 120
    with pytest.raises(Error, match="it is over, or was never begun"):
        env.step(np.zeros(1, np.float32))


def test_nothing_is_decided_before_a_flow_has_begun() -> None:
    late = [{"cc": "learner", "start": "5s", "size": "1MB"}]
    env = ng.Env(base(late), preset="plain")
    env.reset(seed=1)
    _, _, terminated, _, info = env.step(np.zeros(1, np.float32))
    assert not terminated and info["row"][0] > 5 and info["row"][2] > 0
    two = [{"cc": "learner"}, {"cc": "learner", "start": "2s"}]
    many = ng.ParallelEnv(base(two), agents=2, preset="plain", interval="100ms")
    many.reset(seed=1)
    rates = []
    for _ in range(40):
        *_, infos = many.step({"flow_0": [0.0], "flow_1": [1.0]})
        if infos["flow_1"]["row"][2] > 0:
            rates.append(infos["flow_1"]["row"][COLUMNS.index("rate")])
    # It begins at half of the link, and goes up from there only.
    assert rates[0] == pytest.approx(10e6 / 12000 / 2)


def test_refused_actions_move_nobody() -> None:
    first, second = (ng.VectorEnv(num_envs=2, preset="plain") for _ in range(2))
    for one in (first, second):
        one.reset(seed=1)
    with pytest.raises(Error, match="not a number"):
        first.step(np.array([[1], [np.nan]], np.float32))
    of_first, of_second = (one.step(np.ones((2, 1), np.float32)) for one in (first, second))
    np.testing.assert_array_equal(of_first[0], of_second[0])
    for shape in ((1,), (2, 2), (5, 1)):
        with pytest.raises(Error, match="actions of shape"):
            first.step(np.zeros(shape, np.float32))
    with pytest.raises(Error, match="1 seeds for 2 places"):
        first.reset(seed=[1])
    first.reset(seed=np.int64(3))


def test_orca_stays_in_bounds_and_begins_at_cubics_window() -> None:
    env = ng.Env(base(), preset="orca", steps=40)
    env.reset(seed=1)
    *_, info = env.step(np.zeros(1, np.float32))
    assert info["row"][COLUMNS.index("window")] >= 10
    for _ in range(30):
        *_, info = env.step(np.ones(1, np.float32))
    assert info["row"][COLUMNS.index("window")] <= 1e7


def test_environments_with_draws_are_pickled() -> None:
    links = ng.Draw(
        {"dumbbell.rate": ng.log_uniform("1Mbps", "9Mbps"), "dumbbell.rtt": ng.choice(["20ms"])},
        start=ng.uniform(0.5, 1),
    )
    for env in (ng.Env(links), ng.Env(ng.links_of("aurora"))):
        again = pickle.loads(pickle.dumps(env))
        assert again.reset(seed=4)[1] == env.reset(seed=4)[1]


def test_laws_by_their_files(tmp_path: Path) -> None:
    """A policy and a formula, on the command line and in a scenario's text."""
    weights = np.zeros((1, 48))
    nw.Policy("plain", [(weights, np.zeros(1))]).save(tmp_path / "p.npz")
    (tmp_path / "f.toml").write_text(
        'on_ack = ["window = window + if(recovering, 0, packets / window)"]\n'
        'on_loss = ["window = if(opens_epoch, max(window / 2, 2), window)"]\n'
    )
    laws = [f"policy:{tmp_path}/p.npz", f"formula:{tmp_path}/f.toml"]
    path = nw.dumbbell("10Mbps", "40ms", "20p", flows=[{"cc": law} for law in laws], duration="5s")
    again = nw.Scenario.from_toml(path.to_toml())
    for one in (path, again):
        assert nw.run(one).flows["cc"].to_list() == laws
    ran = subprocess.run(
        [
            BINARY,
            "compare",
            "--rate",
            "10Mbps",
            "--rtt",
            "40ms",
            "--buffer",
            "20p",
            "-t",
            "2s",
            "--cc",
            f"cubic,{','.join(laws)}",
            "--json",
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert ran.returncode == 0, ran.stderr
    assert [json.loads(line)["cc"] for line in ran.stdout.splitlines()][1:] == laws
    bad = nw.Formula("down", on_ack=["window = window - 1"])
    with pytest.raises(ValueError, match="window became 0, which is not from 1 to 1e7"):
        nw.run(nw.dumbbell("10Mbps", "40ms", "20p", cc=bad, duration="5s"))
    (tmp_path / "f.toml").write_text('on_ack = ["window = windw"]')
    with pytest.raises(Error, match=r'f.toml: on_ack\[0\]: unknown name "windw"; did you mean'):
        nw.Formula.load(tmp_path / "f.toml")


class _Toy:
    """One end of a stack: sends a datagram each 5 ms, or hears."""

    def __init__(self, sends: bool, fails_at: float) -> None:
        self.next = 0.0 if sends else None
        self.due = False
        self.fails_at = fails_at

    def handle(self, now: float, datagram: bytes, ecn: int) -> None:
        if now > self.fails_at:
            raise RuntimeError("the far end has had enough")

    def handle_timeout(self, now: float) -> None:
        if self.next is not None:
            self.next, self.due = now + 0.005, True

    def poll_transmit(self, now: float) -> bytes | None:
        due, self.due = self.due, False
        return bytes(1000) if due else None

    def poll_timeout(self) -> float | None:
        return self.next


class _Stack(nw.Stack):
    fails_at = 1e9

    def ends(self, seed: int, size: int | None) -> tuple[_Toy, _Toy]:
        return _Toy(True, self.fails_at), _Toy(False, self.fails_at)


def test_a_stack_of_pythons_is_beside_a_learner() -> None:
    def base(stack: Any) -> nw.Scenario:
        flows = [{"cc": "learner"}, {"cc": stack}]
        return nw.dumbbell("10Mbps", "40ms", "20p", flows=flows, duration="600s")

    env = ng.Env(ng.Draw({}, base=base(_Stack)), preset="plain", steps=20)
    env.reset(seed=3)
    for _ in range(20):
        *_, info = env.step(np.zeros(1, np.float32))
    assert info["flows"] == 2
    beside = env.result().flows
    assert beside["arrived"][1] > 50

    class Fails(_Stack):
        fails_at = 0.5

    env = ng.Env(ng.Draw({}, base=base(Fails)), preset="plain", steps=200)
    env.reset(seed=3)
    with pytest.raises(RuntimeError, match="has had enough"):
        for _ in range(200):
            env.step(np.zeros(1, np.float32))


def test_the_examples_learn_and_act(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    examples = ROOT / "examples"
    search = runpy.run_path(str(examples / "gym_random_search.py"))["main"]
    search(2)
    assert nw.Policy.load("linear.npz").preset == "plain"
    four = runpy.run_path(str(examples / "gym_four_flows.py"))["main"]
    assert four("linear.npz").flows["cc"].to_list() == ["learner"] * 4


def test_another_process_has_the_same_episode() -> None:
    """What a seed makes depends on nothing of the process."""
    code = (
        "import numpy as np, narrows.gym as ng\n"
        "env = ng.Env(preset='plain', steps=30)\n"
        "env.reset(seed=9)\n"
        "print([env.step(np.ones(1, np.float32) * (step % 3 - 1))[1] for step in range(30)])\n"
    )
    ran = [
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": str(number)},
        ).stdout
        for number in range(2)
    ]
    assert ran[0] == ran[1] and len(ran[0]) > 300


def test_a_seed_is_for_the_places_that_begin() -> None:
    """The other place goes on with its own generator, as one environment of its seed does."""
    envs = ng.VectorEnv(num_envs=2, preset="plain", autoreset=AutoresetMode.DISABLED)
    envs.reset(seed=5)
    envs.reset(seed=100, options={"reset_mask": np.array([True, False])})
    _, info = envs.reset(options={"reset_mask": np.array([False, True])})
    alone = ng.Env(preset="plain")
    alone.reset(seed=6)
    assert info["capacity"][1] == alone.reset()[1]["capacity"]
    for mask in ([True], [0, 2, 5], [False, False]):
        with pytest.raises(Error, match="reset_mask: "):
            envs.reset(options={"reset_mask": np.array(mask)})


def test_a_learner_for_which_nobody_decides_is_warned_of() -> None:
    flows = [{"cc": "learner"}, {"cc": "cubic"}]
    scenario = nw.dumbbell("10Mbps", "20ms", "20p", flows=flows, duration="1s")
    told = "\n".join(nw.run(scenario).warnings)
    assert "flows[0].cc: nobody decides for a learner" in told
    assert "flows[1].cc" not in told
    # In an environment somebody does, and in the run of its episode what was decided is done.
    env = ng.Env(scenario, preset="plain")
    env.reset(seed=1)
    env.step(np.zeros(1, np.float32))
    assert "nobody decides" not in "\n".join(env.result().warnings)


def test_agents_together_are_told_the_seed_of_their_run() -> None:
    many = ng.ParallelEnv(agents=2, preset="plain", interval="30ms")
    _, infos = many.reset(seed=3)
    assert {info["run_seed"] for info in infos.values()} == {many.run_seed}
