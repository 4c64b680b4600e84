/** Page sizes and size limits. Page sizes above `max_limit` are silently capped. */
export const paging = {
  default_limit: 20,
  max_limit: 100,
  max_filters: 50,
  max_search_words: 10,
  /** The maximum number of search results that the console counts. */
  most_counted: 10_000,
  /** The text index cannot match shorter substrings. */
  shortest_indexed: 3,
} as const;

export const limits = {
  body_bytes: 1024 * 1024,
  json_levels: 32,
  /**
   * Node's HTTP server limits headers, including the URL, to 16 KiB. In-process calls get the same
   * limit.
   */
  address_characters: 16 * 1024,
  /** The maximum length of a remote server's ids. */
  id_characters: 200,
  /** Longer strings exceed the index limits of some databases. */
  name_characters: 500,
  path_bytes: 2000,
  web_address_characters: 8192,
  /**
   * The query of a shortened URL is limited, because an index entry contains the query and two ids.
   */
  shortened_query_characters: 2000,
  template_body_bytes: 65_536,
  template_css_bytes: 32_768,
  kept_template_versions: 20,
  /** How long an approval request stays open. */
  approval_ms: 5 * 60_000,
  /** How long after a visit an install can match it. */
  deferred_visit_ms: 10 * 60_000,
  /** Limited because the transaction of each change inserts one row per webhook. */
  webhooks_of_project: 10,
  /** How many days a deletion can be undone. Remote servers may have another limit. */
  bin_days: 30,
} as const;

/** The rate limits per key. Endpoints with the same budget share it. */
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
   * The number of requests that a process counts before it shares the count with other processes.
   * Defaults to a quarter of the limit.
   */
  readonly step?: number;
};

/** The rate limits per client IP address, for endpoints that need no secret key. */
export const addressBudgets = {
  keyless: { limit: 1200, window_ms: 60_000 },
  // High, because a mobile carrier's customers share an IP address, and apps report each opening.
  app_openings: { limit: 600, window_ms: 60_000 },
  app_installs: { limit: 60, window_ms: 60_000 },
  // Failed install matches per IP address. Processes share each failure immediately, because the
  // limit is low.
  shared_misses: { limit: 20, window_ms: 60 * 60_000, step: 1 },
} as const satisfies Record<string, AddressBudget>;
export type AddressBudgetName = keyof typeof addressBudgets;

/** A margin, because a remote server's clock may run slightly slower than ours. */
const margin_ms = 1000;

/** How long the client counts a call against a rate limit. */
export function readSpan(budget: BudgetName): number {
  return budgets[budget].window_ms + margin_ms;
}

/** The first `most` overwrites in a window need no approval; an approval allows `granted` more. */
export const unapprovedOverwrites = { most: 20, granted: 100, window_ms: 10 * 60_000 } as const;

/**
 * A link without clicks can move to another path without approval until the link reaches this age.
 */
export const unapprovedMove_ms = 10 * 60_000;
