// Scales and ticks of one panel. A scale maps a value to pixels; log scales drop what is not positive.
const makeScale = (low, high, from, to, log) => {
  const f = log ? Math.log10 : (v) => v;
  const a = f(low), span = f(high) - a || 1;
  const scale = (v) => from + ((f(v) - a) / span) * (to - from);
  scale.invert = (px) => { const v = a + ((px - from) / (to - from)) * span; return log ? 10 ** v : v; };
  return scale;
};

const niceTicks = (low, high, count, log, whole) => {
  if (log) {
    const ticks = [], decades = Math.log10(high / low);
    const factors = decades > 3 ? [1] : decades > 1.2 ? [1, 3] : [1, 2, 5];
    const step = Math.max(1, Math.ceil(decades / 6));
    for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e += step)
      for (const m of factors) { const v = m * 10 ** e; if (v >= low * 0.999 && v <= high * 1.001) ticks.push(v); }
    if (ticks.length > 1) return ticks;
  }
  const rough = (high - low) / Math.max(1, count), power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999 && (!whole || s >= 1)) || 1;
  const ticks = [];
  for (let v = Math.ceil(low / step - 1e-9) * step; v <= high + step * 1e-9; v += step) ticks.push(v);
  return ticks.length < 2 && !whole && count < 20 ? niceTicks(low, high, 2 * count) : ticks; // one number is no scale
};

const showNumber = (v) => {
  if (v === null || v === undefined || !Number.isFinite(v)) return "–";
  if (Math.abs(v) < 1e-12) return "0";
  const size = Math.abs(v);
  if (size >= 1e5 || size < 1e-4) return v.toExponential(0).replace("e", "·10^").replace("^+", "^").replace("-", "−");
  return String(Number(v.toPrecision(4))).replace("-", "−");
};

// The extent of what is shown, with room at the edges.
const extent = (panel, marks, axis) => {
  const fixed = panel[axis + "_range"], log = panel[axis + "_log"];
  if (fixed) return fixed.slice();
  let low = Infinity, high = -Infinity;
  const see = (v) => { if (v !== null && v !== undefined && (!log || v > 0)) { if (v < low) low = v; if (v > high) high = v; } };
  for (const mark of marks) {
    (mark[axis] || []).forEach(see);
    if (axis === "y") { (mark.low || []).forEach(see); (mark.high || []).forEach(see); }
  }
  for (const [at] of panel[axis + "_ticks"] || []) see(at);
  if (low > high) return log ? [0.1, 1] : [0, 1];
  if (log) { const room = (high / low) ** 0.05 || 1.2; return low === high ? [low / 2, high * 2] : [low / room, high * room]; }
  const room = (high - low) * 0.05 || Math.abs(high) * 0.1 || 0.5;
  return [low - room, high + room];
};
