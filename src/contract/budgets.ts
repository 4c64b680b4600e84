/** Requests per key and window. Endpoints that name the same budget share it. */
export const budgets = {
  link_writes: { limit: 600, window_ms: 60_000 },
  url_shortening: { limit: 600, window_ms: 60_000 },
  ios_app_writes: { limit: 600, window_ms: 60_000 },
  android_app_writes: { limit: 600, window_ms: 60_000 },
  page_template_writes: { limit: 60, window_ms: 60_000 },
} as const;
export type BudgetName = keyof typeof budgets;

/** Requests per client address, for endpoints that need no key. */
export const keylessBudget = { limit: 60, window_ms: 60_000 } as const;

/** A deployment's clock may be a little slower than ours. */
const margin_ms = 1000;

/** For how long a client has to count a call against a budget. */
export function readSpan(budget: BudgetName): number {
  return budgets[budget].window_ms + margin_ms;
}
