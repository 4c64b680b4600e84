/** Page sizes and size limits. Larger page sizes are silently reduced to `max_limit`. */
export const paging = {
  default_limit: 20,
  max_limit: 100,
  max_filters: 50,
  max_search_words: 10,
  /** The console stops counting search results here; more filters give an exact count. */
  most_counted: 10_000,
  /** A text index cannot find shorter parts of a text. */
  shortest_indexed: 3,
} as const;

export const limits = {
  body_bytes: 1024 * 1024,
  /** The depth of nested objects and lists. */
  json_levels: 32,
  /** Node's HTTP server limits headers to 16 KiB. Calls without HTTP get the same limit. */
  address_characters: 16 * 1024,
  /** The length of ids from remote servers. */
  id_characters: 200,
  /** Longer texts do not fit the indexes of every database. */
  name_characters: 500,
  path_bytes: 2000,
  web_address_characters: 8192,
  /** The query of a shortened address, which is in an index with two ids. */
  shortened_query_characters: 2000,
  template_body_bytes: 65_536,
  template_css_bytes: 32_768,
  kept_template_versions: 20,
  /** How long a person has to approve an action. */
  approval_ms: 5 * 60_000,
  /** How long after a visit an install can match it. */
  deferred_visit_ms: 10 * 60_000,
  /** Each event adds a row for each webhook of its project to the transaction of the change. */
  webhooks_of_project: 10,
  /** How long a deletion can be undone on Waypost's own server. */
  bin_days: 30,
} as const;

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

/** The first `most` overwrites in a window need no approval; one approval covers `granted` more. */
export const unapprovedOverwrites = { most: 20, granted: 100, window_ms: 10 * 60_000 } as const;

/**
 * A link without clicks can move to another path without approval while it is younger than this.
 */
export const unapprovedMove_ms = 10 * 60_000;
