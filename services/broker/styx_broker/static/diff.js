// What two texts differ in, by lines: the longest common subsequence, after what both begin with.

/** Lines as [sign, text]: " " for both, "-" for the old alone, "+" for the new alone. */
export function diff(old, now) {
  const a = old.split("\n"), b = now.split("\n");
  const width = b.length + 1, best = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--) {
    const here = i * width + j;
    best[here] = a[i] === b[j] ? best[here + width + 1] + 1 : Math.max(best[here + width], best[here + 1]);
  }
  const lines = [];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { lines.push([" ", a[i]]); i++; j++; }
    else if (j === b.length || (i < a.length && best[(i + 1) * width + j] >= best[i * width + j + 1])) lines.push(["-", a[i++]]);
    else lines.push(["+", b[j++]]);
  }
  return lines;
}

/** Only what differs, each with `around` lines on both sides; null stands for what is left out. */
export function hunks(lines, around = 2) {
  const near = lines.map((_, at) => lines.slice(Math.max(0, at - around), at + around + 1).some(([sign]) => sign !== " "));
  return lines.flatMap((line, at) => (near[at] ? [line] : at === 0 || near[at - 1] ? [null] : []));
}
