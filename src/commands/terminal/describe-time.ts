/** Writes a duration in its two largest units, such as `2 min 14 s`. */
export function describeSeconds(seconds: number): string {
  const index = units.findIndex(({ size }) => seconds >= size);
  const unit = units[index];
  if (unit === undefined) return `${Math.round(seconds)} s`;
  const smaller = units[index + 1] ?? second;
  const count = Math.floor(seconds / unit.size);
  const rest = Math.floor((seconds % unit.size) / smaller.size);
  return `${count} ${unit.name}${rest === 0 ? "" : ` ${rest} ${smaller.name}`}`;
}

const second = { name: "s", size: 1 };
const units = [
  { name: "d", size: 86_400 },
  { name: "h", size: 3600 },
  { name: "min", size: 60 },
];
