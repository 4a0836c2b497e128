// Simulated annealing of worlds on the network's own z, as possibleworlds/models/annealing.py has it.

const [HOT, COLD, CYCLE] = [0.7, 0.15, 50];

// T falls from HOT to COLD within each cycle of flips.
export const temperature = (flip) => HOT * (COLD / HOT) ** ((flip % CYCLE) / (CYCLE - 1));

// How much each component of a world matters to the variables of a pair, summed up from the first.
export function cumulativeWeights({ d, k, w4 }, letters) {
  let sum = 0;
  return Float64Array.from({ length: k }, (_, i) => {
    const norms = letters.map((letter) => w4[letter].subarray(i * d, (i + 1) * d).reduce((all, x) => all + x * x, 0));
    return (sum += Math.max(...norms));
  });
}

// Flip one component of each world, drawn by weight, and keep the flip where z falls, or else with
// probability exp(-Δz / T). Of the 2n uniform numbers, n draw components and n decide.
export function flipAll(evaluator, worlds, scores, weights, uniform, flip) {
  const [{ k }, n] = [evaluator.network, scores.length];
  const [next, nextScores, flipped] = [Float64Array.from(worlds), Float64Array.from(scores), []];
  for (let i = 0; i < n; i++) {
    const above = weights.findIndex((sum) => sum > weights[k - 1] * uniform[i]);
    const component = above < 0 ? k - 1 : above;
    const at = i * k + component;
    next[at] = -worlds[at];
    const z = evaluator.score(next, i * k);
    const keep = scores[i] - z > temperature(flip) * Math.log(uniform[n + i]);
    if (keep) nextScores[i] = z;
    else next[at] = worlds[at];
    flipped.push(keep ? component : null);
  }
  return { worlds: next, scores: nextScores, flipped };
}
