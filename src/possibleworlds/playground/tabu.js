// Tabu search for a world with a negative score, as possibleworlds/models/tabu.py has it.

const [GOLDEN_RATIO, SHORTEST_WALK, TENURES, SAMPLE_EVERY] = [0.6180339887, 8, 5, 4];

// The i-th number of Luby's sequence 1, 1, 2, 1, 1, 2, 4, ..., from i = 1.
export const luby = (i) => (i & (i + 1) ? luby(i + 1 - (1 << (31 - Math.clz32(i)))) : (i + 1) / 2);

// The components of a world that matter to the variables of a pair: at least half as much as the largest.
export function relevantComponents({ d, k, w4 }, letters) {
  const weights = Array.from({ length: k }, (_, i) =>
    Math.max(...letters.map((letter) => w4[letter].subarray(i * d, (i + 1) * d).reduce((all, x) => all + x * x, 0))));
  const enough = Math.max(...weights) / 2;
  return weights.flatMap((weight, i) => (weight >= enough ? [i] : []));
}

// Some chains of worlds that start from the best; a move tries every flip of each and makes the best.
export class Chains {
  constructor(evaluator, components, n) {
    const count = Math.max(1, Math.round(n / components.length));
    Object.assign(this, { evaluator, components, count, worlds: [], turns: 0, moves: 0, restarts: 0 });
    this.cost = count * components.length; // how many worlds a move evaluates
    this.numbers = count * (1 + evaluator.network.k); // that a move draws: one a chain, and worlds for a restart
    this.nextRestart = Math.max(SHORTEST_WALK, components.length);
    this.tabuUntil = Array.from({ length: count }, () => new Map());
  }

  start(worlds, scores) {
    const { k } = this.evaluator.network;
    const order = Array.from(scores.keys()).sort((i, j) => scores[i] - scores[j]);
    this.worlds = order.slice(0, this.count).map((i) => worlds.slice(i * k, (i + 1) * k));
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

  // Make a move, or try the random worlds; give the worlds tried, their scores, and which component was flipped for good.
  move(numbers, random) {
    const { evaluator, components, count, moves, tabuUntil } = this;
    const { k } = evaluator.network;
    this.turns += 1;
    if (this.turns % SAMPLE_EVERY === 0) {
      const worlds = random.map((x, at) => (components.includes(at % k) ? x : this.worlds[Math.floor(at / k / components.length)][at % k]));
      return { worlds, scores: evaluator.scores(worlds), flipped: [] };
    }
    if (moves === this.nextRestart) this.restart(numbers.slice(count));
    const tried = { worlds: new Float64Array(this.cost * k), scores: new Float64Array(this.cost), flipped: [] };
    this.worlds = this.worlds.map((world, chain) => {
      let [best, least] = [0, Infinity];
      components.forEach((component, i) => {
        const at = chain * components.length + i;
        tried.worlds.set(world, at * k);
        tried.worlds[at * k + component] *= -1;
        tried.scores[at] = evaluator.score(tried.worlds, at * k);
        const isTabu = (tabuUntil[chain].get(component) ?? 0) > moves;
        if (!isTabu && tried.scores[at] < least) [best, least] = [i, tried.scores[at]];
      });
      const tenure = 1 + Math.floor(components.length / TENURES) + Math.floor(TENURES * numbers[chain]);
      tabuUntil[chain].set(components[best], moves + tenure);
      tried.flipped.push(...components.map((component, i) => (i === best ? component : null)));
      const at = (chain * components.length + best) * k;
      return tried.worlds.slice(at, at + k);
    });
    this.moves += 1;
    return tried;
  }
}
