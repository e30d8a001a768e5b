"""The accountants answer for events of ``dp_accounting`` as its own do, never below the truth."""

import math

import numpy as np
import pytest
import rhograd
from rhograd import accounting
from rhograd.accountants import PLDAccountant, RdpAccountant, UnsupportedEventError, dp_event_of, event_of

other = pytest.importorskip("dp_accounting")
events = pytest.importorskip("dp_accounting.dp_event")
theirs_pld = pytest.importorskip("dp_accounting.pld")
theirs_rdp = pytest.importorskip("dp_accounting.rdp")

Relation = other.NeighboringRelation
RELATIONS = [Relation.ADD_OR_REMOVE_ONE, Relation.REPLACE_ONE]


def gaussian(z):
    return events.GaussianDpEvent(z)


def sampled(rate, z):
    return events.PoissonSampledDpEvent(rate, gaussian(z))


#: Events with the number of times they are made, as the documentation and tests of that package use them.
EVENTS = {
    "one gaussian": (gaussian(1.0), 1),
    "many gaussians": (gaussian(30.0), 500),
    "sampled": (sampled(0.01, 1.1), 1000),
    "sampled much": (sampled(0.25, 3.0), 40),
    "laplace": (events.LaplaceDpEvent(4.0), 5),
    "discrete laplace": (events.DiscreteLaplaceDpEvent(0.25, 1), 7),
    "composed": (events.ComposedDpEvent([gaussian(5.0), sampled(0.1, 2.0), events.NoOpDpEvent()]), 3),
    "self-composed": (events.SelfComposedDpEvent(sampled(0.05, 1.5), 20), 2),
}

#: Those that the other package answers only where a row is added or removed.
ADDED_ONLY = ("laplace", "discrete laplace")


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", EVENTS)
def test_privacy_loss_distributions_agree(name, relation):
    if name in ADDED_ONLY and relation is Relation.REPLACE_ONE:
        pytest.skip("the other package has no answer")
    event, count = EVENTS[name]
    ours = PLDAccountant(relation).compose(event, count)
    their = theirs_pld.PLDAccountant(relation).compose(event, count)
    for delta in (1e-3, 1e-6, 1e-9):
        epsilon = ours.get_epsilon(delta)
        assert epsilon == pytest.approx(their.get_epsilon(delta), rel=1e-3, abs=1e-3)
        # What was answered for delta is an answer for epsilon, too.
        assert ours.get_delta(epsilon) <= delta * (1 + 1e-3)
        assert ours.get_delta(epsilon) == pytest.approx(their.get_delta(epsilon), rel=1e-2, abs=1e-14)


@pytest.mark.parametrize("name", [name for name in EVENTS if "discrete" not in name])
def test_renyi_divergences_are_no_looser(name):
    event, count = EVENTS[name]
    ours = RdpAccountant(Relation.ADD_OR_REMOVE_ONE).compose(event, count)
    their = theirs_rdp.RdpAccountant().compose(event, count)
    for delta in (1e-3, 1e-6, 1e-9):
        assert ours.get_epsilon(delta) <= their.get_epsilon(delta) * (1 + 1e-9)
        # Nor below what is true.
        assert ours.get_epsilon(delta) >= PLDAccountant().compose(event, count).get_epsilon(delta) - 2e-4
    assert ours.get_delta(1.0) <= their.get_delta(1.0) * (1 + 1e-6)


def test_random_sampled_gaussians_agree():
    rng = np.random.default_rng(3)
    for _ in range(25):
        rate, z = 10 ** rng.uniform(-3, -0.3), rng.uniform(0.8, 5)
        event, steps, delta = sampled(rate, z), int(10 ** rng.uniform(0, 3)), 10 ** rng.uniform(-9, -3)
        epsilon = PLDAccountant().compose(event, steps).get_epsilon(delta)
        their = theirs_pld.PLDAccountant().compose(event, steps).get_epsilon(delta)
        assert epsilon == pytest.approx(their, rel=2e-3, abs=1e-3), (rate, z, steps, delta)


def test_small_epsilons_are_told_as_narrowly_as_large_ones():
    for rate, z, steps, delta in ((0.0012, 3.2, 12, 1.7e-7), (0.001, 3.2, 12, 1e-9), (0.26, 530.0, 8, 1e-9)):
        accountant = PLDAccountant().compose(sampled(rate, z), steps)
        epsilon = accountant.get_epsilon(delta)
        # A little less would not do.
        assert epsilon < 0.01 and accountant.get_delta(epsilon * (1 - 3e-4)) > delta * (1 + 1e-4)


def test_selection_and_samples_of_fixed_size():
    base = sampled(0.01, 1.1)
    for shape in (0, 1, 0.5, math.inf):
        event = events.RepeatAndSelectDpEvent(base, mean=10, shape=shape)
        ours = RdpAccountant().compose(event).get_epsilon(1e-6)
        their = theirs_rdp.RdpAccountant().compose(event).get_epsilon(1e-6)
        assert ours <= their * (1 + 1e-6) and ours > RdpAccountant().compose(base).get_epsilon(1e-6)
    event = events.SampledWithoutReplacementDpEvent(10_000, 100, gaussian(4.0))
    assert 0 < RdpAccountant("replace-one").compose(event, 10).get_epsilon(1e-6) < 5
    assert not RdpAccountant().supports(event)
    assert not PLDAccountant().supports(events.RepeatAndSelectDpEvent(base, mean=10, shape=0))


def test_mixtures_of_gaussians():
    event = events.MixtureOfGaussiansDpEvent(1.5, [0.0, 1.0, 2.0], [0.5, 0.25, 0.25])
    for count in (1, 20):
        # Their usual grid is ten times as fine, and takes a minute.
        their = theirs_pld.PLDAccountant(value_discretization_interval=1e-3).compose(event, count)
        ours = PLDAccountant().compose(event, count)
        assert ours.get_epsilon(1e-6) == pytest.approx(their.get_epsilon(1e-6), rel=1e-3, abs=1e-3)
    assert dp_event_of(event_of(event)) == event
    # Its Renyi divergences are at most those of the largest sensitivity.
    assert RdpAccountant().compose(event).get_epsilon(1e-6) <= RdpAccountant().compose(gaussian(0.75)).get_epsilon(1e-6) * (1 + 1e-9)
    assert not PLDAccountant("replace-one").supports(event)
    for wrong in ([0.5, 0.25], [0.5, 0.25, 0.5]):
        assert not PLDAccountant().supports(events.MixtureOfGaussiansDpEvent(1.5, [0.0, 1.0, 2.0], wrong))
    assert event_of(events.MixtureOfGaussiansDpEvent(0.0, [1.0], [1.0])) == event_of(events.NonPrivateDpEvent())


def test_truncated_samples():
    """A mixture of two of their privacy-loss distributions, for each step the one that its label names; and their own bound, where they have one."""
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    pmf = pytest.importorskip("dp_accounting.pld.pld_pmf")
    rows, rate, most, z, steps = 2_000, 0.05, 130, 1.0, 50
    event = events.TruncatedSubsampledGaussianDpEvent(rows, rate, most, z)
    assert dp_event_of(event_of(event)) == events.TruncatedSubsampledGaussianDpEvent(rows + 1, rate, most, z)
    terms = [math.lgamma(rows + 1) - math.lgamma(k + 1) - math.lgamma(rows - k + 1) + k * math.log(rate) + (rows - k) * math.log1p(-rate) for k in range(most, rows + 1)]
    full = sum(map(math.exp, terms))
    assert 1e-4 < full < 1e-2

    def direction(name):
        def one(noise):
            return getattr(pld.from_gaussian_mechanism(noise, sampling_prob=rate, value_discretization_interval=1e-3), name).to_dense_pmf()

        def whole(it):
            dense = np.zeros(high - low + 1)
            dense[it._lower_loss - low : it._lower_loss - low + it.size] = it._probs
            return dense

        parts = [one(z), one(z / 2)]
        low, high = min(it._lower_loss for it in parts), max(it._lower_loss + it.size - 1 for it in parts)
        both = (1 - full) * whole(parts[0]) + full * whole(parts[1])
        lost = (1 - full) * parts[0]._infinity_mass + full * parts[1]._infinity_mass
        mixed = pmf.DensePLDPmf(parts[0]._discretization, low, both, lost, True)
        return mixed.self_compose(steps).get_epsilon_for_delta(1e-6)

    theirs = max(direction("_pmf_remove"), direction("_pmf_add"))
    ours = PLDAccountant().compose(event, steps).get_epsilon(1e-6)
    assert ours == pytest.approx(theirs, rel=2e-3)
    plain = PLDAccountant().compose(sampled(rate, z), steps).get_epsilon(1e-6)
    assert ours > plain * 1.01
    by_orders = RdpAccountant().compose(event, steps).get_epsilon(1e-6)
    assert ours < by_orders and by_orders > RdpAccountant().compose(sampled(rate, z), steps).get_epsilon(1e-6)
    if hasattr(pld, "from_truncated_subsampled_gaussian_mechanism"):
        # Of data sets of exactly so many rows.
        assert theirs_pld.PLDAccountant().compose(event, steps).get_epsilon(1e-6) == pytest.approx(ours, rel=5e-3)
    # A row that is not kept leaves its place to another. Batches that cannot be full, empty ones, and no noise.
    assert not PLDAccountant("replace-one").supports(event) and not RdpAccountant("replace-one").supports(event)
    never = events.TruncatedSubsampledGaussianDpEvent(100, rate, 101, z)
    assert PLDAccountant().compose(never).get_epsilon(1e-6) == PLDAccountant().compose(sampled(rate, z)).get_epsilon(1e-6)
    assert event_of(events.TruncatedSubsampledGaussianDpEvent(100, rate, 0, z)) == event_of(events.NoOpDpEvent())
    assert event_of(events.TruncatedSubsampledGaussianDpEvent(100, rate, 10, 0.0)) == event_of(events.NonPrivateDpEvent())


def test_events_that_newer_versions_have():
    """Told by the names of their classes, whichever version is installed."""
    made = lambda name, **fields: type(name, (), fields)()  # noqa: E731
    assert PLDAccountant().compose(made("EpsilonDeltaDpEvent", epsilon=0.5, delta=1e-7)).get_epsilon(1e-6) == pytest.approx(0.5, abs=1e-3)
    assert PLDAccountant().compose(made("EpsilonDeltaDpEvent", epsilon=0.5, delta=1.0)).get_epsilon(1e-6) == math.inf
    assert PLDAccountant().compose(made("PermuteAndFlipDpEvent", epsilon=0.5)).get_epsilon(1e-30) == pytest.approx(0.5, abs=1e-3)
    choice = PLDAccountant().compose(made("ExponentialMechanismDpEvent", epsilon=0.1), 10).get_epsilon(1e-6)
    assert choice < 0.7 < PLDAccountant().compose(made("PermuteAndFlipDpEvent", epsilon=0.1), 10).get_epsilon(1e-6)


def test_steps_that_rows_draw_cost_less_than_samples():
    one = {"mechanism": "gaussian", "noise_multiplier": 1.0}
    drawn = {"kind": "random-allocation", "mechanism": one, "steps": 100}
    epsilon = accounting.event_epsilon(drawn, 1e-5)
    assert epsilon == pytest.approx(0.62096, abs=2e-4)
    assert epsilon < PLDAccountant().compose(sampled(0.01, 1.0), 100).get_epsilon(1e-5)
    with pytest.raises(UnsupportedEventError, match="dp_accounting has no event"):
        dp_event_of(drawn)
    least = accounting.noise_multiplier(epsilon, 1e-5, 100, steps_of_pass=100)
    assert least == pytest.approx(1.0, rel=1e-3) and least < accounting.noise_multiplier(epsilon, 1e-5, 100, rate=0.01)
    with pytest.raises(rhograd.ParameterError, match="steps_of_pass"):
        accounting.noise_multiplier(1, 1e-5, 100, rate=0.01, steps_of_pass=100)


def test_randomized_response_is_exact():
    event = events.RandomizedResponseDpEvent(0.5, 4)
    exact = math.log((1 - 0.5 + 0.125) / 0.125)
    assert PLDAccountant("replace-one").compose(event).get_epsilon(1e-30) == pytest.approx(exact, abs=1e-6)
    # Nor anywhere within another event.
    inside = [
        events.ComposedDpEvent([gaussian(1.0), event]),
        events.SelfComposedDpEvent(events.ComposedDpEvent([event]), 2),
        events.PoissonSampledDpEvent(0.5, event),
        events.RepeatAndSelectDpEvent(event, 10, 1),
    ]
    for whole in (event, *inside):
        for accountant in (PLDAccountant, RdpAccountant):
            assert not accountant().supports(whole), whole
    assert PLDAccountant("replace-one").supports(inside[0])
    # Where the true value is hardly more likely, its digits stay.
    faint = event_of(events.RandomizedResponseDpEvent(1 - 2**-40, 3))["mechanism"]["epsilon"]
    assert 3 * 2**-40 * (1 - 1e-11) < faint < 3 * 2**-40 * (1 + 1e-11)
    assert PLDAccountant("replace-one").compose(events.RandomizedResponseDpEvent(0.0, 1)).get_epsilon(1e-9) == 0
    assert PLDAccountant("replace-one").compose(events.RandomizedResponseDpEvent(0.0, 2)).get_epsilon(1e-9) == math.inf


def test_what_is_nothing_and_what_has_no_privacy():
    assert PLDAccountant().get_epsilon(1e-6) == 0 and PLDAccountant().get_delta(1.0) == 0
    assert PLDAccountant().compose(events.NoOpDpEvent(), 5).get_epsilon(1e-6) == 0
    assert PLDAccountant().compose(sampled(0.0, 1.0)).get_epsilon(1e-6) == 0
    for event in (events.NonPrivateDpEvent(), gaussian(0.0), sampled(0.1, 0.0), events.LaplaceDpEvent(0.0)):
        accountant = RdpAccountant().compose(gaussian(1.0)).compose(event)
        assert accountant.get_epsilon(1e-6) == math.inf and accountant.get_delta(3.0) == 1
    assert PLDAccountant().compose(gaussian(1.0), 0).ledger == {"kind": "composed", "events": []}


def test_what_has_no_bound_is_named_and_nothing_is_added():
    for event in (events.UnsupportedDpEvent(), events.ZCDpEvent(0.1), "gaussian", {"kind": "single"}):
        accountant = PLDAccountant()
        with pytest.raises(UnsupportedEventError, match=type(event).__name__):
            accountant.compose(event)
        assert not accountant.supports(event) and accountant.get_epsilon(1e-6) == 0
    both = events.PoissonSampledDpEvent(0.1, events.ComposedDpEvent([gaussian(1.0), gaussian(2.0)]))
    with pytest.raises(UnsupportedEventError, match="one mechanism"):
        PLDAccountant().compose(both)
    assert issubclass(UnsupportedEventError, rhograd.RefusedError)
    with pytest.raises(rhograd.ParameterError, match="neighboring_relation"):
        PLDAccountant(Relation.REPLACE_SPECIAL)
    assert PLDAccountant().compose(gaussian(9.0), np.int64(2)).get_epsilon(1e-6) > 0
    for count in (-1, 1.5, True):
        with pytest.raises(rhograd.ParameterError, match="count"):
            PLDAccountant().compose(gaussian(1.0), count)
    with pytest.raises(rhograd.ParameterError, match="noise_multiplier"):
        PLDAccountant().compose(gaussian(math.nan))


def test_events_go_both_ways():
    for event, count in EVENTS.values():
        if "Discrete" in type(event).__name__:
            continue
        made = event_of(events.SelfComposedDpEvent(event, count))
        assert event_of(dp_event_of(made)) == made
    with pytest.raises(UnsupportedEventError):
        dp_event_of({"kind": "single", "mechanism": {"mechanism": "exponential", "epsilon": 1.0}})
    # Events of this engine are those of its other functions.
    step = event_of(sampled(0.01, 1.1))
    assert step == accounting.gaussian(1.1, rate=0.01)
    assert PLDAccountant().compose(sampled(0.01, 1.1)).get_epsilon(1e-6) == accounting.event_epsilon(step, 1e-6)
