// Tabu search for a world with a negative score, as possibleworlds/models/tabu.py has it.

const [GOLDEN_RATIO, SHORTEST_WALK, TENURES, LEAVE, AT_ONCE, RANDOM_EVERY, CLIMB_EVERY] = [0.6180339887, 8, 5, 0.1, 64, 4, 2];

// The i-th number of Luby's sequence 1, 1, 2, 1, 1, 2, 4, ..., from i = 1.
export const luby = (i) => (i & (i + 1) ? luby(i + 1 - (1 << (31 - Math.clz32(i)))) : (i + 1) / 2);

// The components of a world that matter to the variables of a pair: at least half as much as the largest.
export function relevantComponents({ d, k, w4 }, letters) {
  const weights = Array.from({ length: k }, (_, i) =>
    Math.max(...letters.map((letter) => w4[letter].subarray(i * d, (i + 1) * d).reduce((all, x) => all + x * x, 0))));
  const enough = Math.max(...weights) / 2;
  return weights.flatMap((weight, i) => (weight >= enough ? [i] : []));
}

// The network with W4 pruned: each variable depends only on the components that matter to it.
export const pruned = (network) => ({
  ...network,
  w4: network.w4.map((one, letter) => {
    const matter = relevantComponents(network, [letter]);
    return one.map((x, at) => (matter.includes(Math.floor(at / network.d)) ? x : 0));
  }),
});

// What moves through the worlds of a pair within a budget: all of them if they fit, and chains otherwise.
export const walkers = (evaluator, components, n, budget) =>
  (2 ** components.length <= budget ? new AllWorlds(evaluator, components) : new Chains(evaluator, components, n, budget));

// All worlds that differ in components that matter, a block at a time.
class AllWorlds {
  constructor(evaluator, components) {
    Object.assign(this, { evaluator, components, count: 0, numbers: 0, first: 0, restarts: 0 });
    const size = 2 ** components.length;
    this.cost = Math.min(size, AT_ONCE); // how many worlds a move evaluates
    this.most = size / this.cost; // moves
  }

  start(worlds) { this.world = worlds.slice(0, this.evaluator.network.k); }

  move() {
    const { evaluator, evaluator: { network: { k } }, components, cost, first, world } = this;
    const worlds = new Float64Array(cost * k);
    for (let i = 0; i < cost; i++) {
      worlds.set(world, i * k);
      components.forEach((component, j) => (worlds[i * k + component] = ((first + i) >> j) & 1 ? 1 : -1));
    }
    this.first += cost;
    return { worlds, scores: evaluator.scores(worlds), flipped: [] };
  }
}

// Some chains of worlds that start from the best; a move tries every flip of each and makes the best.
// In other turns, another world climbs to where as many flips as possible change A or B, or worlds are random.
class Chains {
  constructor(evaluator, components, n, budget) {
    const count = Math.max(1, Math.round(n / components.length));
    Object.assign(this, { evaluator, components, count, worlds: [], turns: 0, moves: 0, restarts: 0 });
    this.cost = count * components.length; // how many worlds a move evaluates
    this.most = Math.floor(budget / this.cost); // moves
    this.numbers = count * (1 + evaluator.network.k); // that a move draws: one a chain, and worlds for a restart
    this.nextRestart = Math.max(SHORTEST_WALK, components.length);
    this.tabuUntil = Array.from({ length: count }, () => new Map());
  }

  start(worlds, scores) {
    const { k } = this.evaluator.network;
    const order = Array.from(scores.keys()).sort((i, j) => scores[i] - scores[j]);
    this.worlds = order.slice(0, this.count).map((i) => worlds.slice(i * k, (i + 1) * k));
    [this.climber, this.sensitivity] = [this.worlds[0], 0];
  }

  restart(uniform) {
    const { k } = this.evaluator.network;
    this.restarts += 1;
    this.nextRestart += Math.max(SHORTEST_WALK, luby(this.restarts + 1) * this.components.length);
    this.worlds = this.worlds.map((world, i) => {
      const positive = ((this.restarts * this.count + i) * GOLDEN_RATIO) % 1;
      return world.map((x, j) => (!this.components.includes(j) ? x : uniform[i * k + j] < positive ? 1 : -1));
    });
    this.tabuUntil.forEach((until) => until.clear());
  }

  // Take a turn; give the worlds tried, their scores, and which component was flipped for good, if flips were tried.
  move(numbers, drawn) {
    const { evaluator, evaluator: { network: { k } }, components, cost } = this;
    this.turns += 1;
    if (this.turns % RANDOM_EVERY === 0) {
      const worlds = drawn.map((x, at) => (!components.includes(at % k) ? this.worlds[0][at % k] : x < 0 ? -1 : 1));
      return { worlds, scores: evaluator.scores(worlds), flipped: null };
    }
    const tried = { worlds: new Float64Array(cost * k), scores: new Float64Array(cost), flipped: [] };
    if (this.turns % CLIMB_EVERY === 0) this.climb(numbers, tried);
    else this.makeFlips(numbers, tried);
    return tried;
  }

  // Try every flip of a world; give the sum of the sides' sensitivities, as tabu.py defines them.
  tryFlips(world, first, { worlds, scores }) {
    const { evaluator, components } = this;
    const { k, bias } = evaluator.network;
    const negative = [0, 0];
    components.forEach((component, i) => {
      const at = first + i;
      worlds.set(world, at * k);
      worlds[at * k + component] *= -1;
      const terms = evaluator.terms(worlds, at * k);
      scores[at] = evaluator.combine(...terms, bias);
      terms.forEach((term, side) => (negative[side] += term < 0));
    });
    const [a, b] = negative.map((flips) => Math.min(flips, components.length - flips));
    return a + b;
  }

  climb(numbers, tried) {
    const { components, count } = this;
    const proposals = Array.from({ length: count }, (_, i) => {
      const flipped = components[Math.floor(components.length * numbers[i])];
      return this.climber.map((x, j) => (j === flipped ? -x : x));
    });
    const sensitivities = proposals.map((world, i) => this.tryFlips(world, i * components.length, tried));
    const highest = Math.max(...sensitivities);
    if (highest < this.sensitivity && numbers[count] >= LEAVE) return;
    [this.climber, this.sensitivity] = [proposals[sensitivities.indexOf(highest)], highest];
  }

  makeFlips(numbers, tried) {
    const { evaluator: { network: { k } }, components, count, moves, tabuUntil } = this;
    if (moves === this.nextRestart) this.restart(numbers.slice(count));
    this.worlds = this.worlds.map((world, chain) => {
      const first = chain * components.length;
      this.tryFlips(world, first, tried);
      let [best, least] = [0, Infinity];
      components.forEach((component, i) => {
        const isTabu = (tabuUntil[chain].get(component) ?? 0) > moves;
        if (!isTabu && tried.scores[first + i] < least) [best, least] = [i, tried.scores[first + i]];
      });
      const tenure = 1 + Math.floor(components.length / TENURES) + Math.floor(TENURES * numbers[chain]);
      tabuUntil[chain].set(components[best], moves + tenure);
      tried.flipped.push(...components.map((component, i) => (i === best ? component : null)));
      return tried.worlds.slice((first + best) * k, (first + best + 1) * k);
    });
    this.moves += 1;
  }
}
