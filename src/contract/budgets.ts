/** The rate limits: requests per key and window. Endpoints that name the same budget share it. */
export const budgets = {
  link_writes: { limit: 600, window_ms: 60_000 },
  url_shortening: { limit: 600, window_ms: 60_000 },
  ios_app_writes: { limit: 600, window_ms: 60_000 },
  android_app_writes: { limit: 600, window_ms: 60_000 },
  page_template_writes: { limit: 60, window_ms: 60_000 },
} as const;
export type BudgetName = keyof typeof budgets;

export type AddressBudget = {
  readonly limit: number;
  readonly window_ms: number;
  /**
   * The number of requests that a process counts before it reports them to other processes. The
   * default is a quarter of the limit.
   */
  readonly step?: number;
};

/** Requests per client address and window, for endpoints that need no secret key. */
export const addressBudgets = {
  keyless: { limit: 1200, window_ms: 60_000 },
  // A mobile carrier has many customers behind one address, and apps report each opening.
  app_openings: { limit: 600, window_ms: 60_000 },
  app_installs: { limit: 60, window_ms: 60_000 },
  // Failed attempts to match visits from the same shared address. Each one is reported to the other
  // processes, which is cheap because the limit is low.
  shared_misses: { limit: 20, window_ms: 60 * 60_000, step: 1 },
} as const satisfies Record<string, AddressBudget>;
export type AddressBudgetName = keyof typeof addressBudgets;

/** A remote server's clock may run slightly slower than ours. */
const margin_ms = 1000;

/** For how long a client counts a call against a budget. */
export function readSpan(budget: BudgetName): number {
  return budgets[budget].window_ms + margin_ms;
}
