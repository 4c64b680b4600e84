/** The start and end of periods such as "this month", in the form of filters. */
export function readDays(now: number): ReadonlyMap<string, Days> {
  const today = new Date(now);
  const [year, month, day] = [today.getUTCFullYear(), today.getUTCMonth(), today.getUTCDate()];
  return new Map([
    ["today", { begin: write(year, month, day), end: write(year, month, day + 1) }],
    ["this month", { begin: write(year, month), end: write(year, month + 1) }],
    ["last month", { begin: write(year, month - 1), end: write(year, month) }],
    ["this year", { begin: write(year), end: write(year + 1) }],
    ["last year", { begin: write(year - 1), end: write(year) }],
  ]);
}

type Days = { readonly begin: string; readonly end: string };

function write(year: number, month = 0, day = 1): string {
  return new Date(Date.UTC(year, month, day)).toISOString().slice(0, 10);
}
