/** The maximum page size is not in the spec; pagy's customary 100 clamps silently. */
export const paging = {
  default_limit: 20,
  max_limit: 100,
  max_filters: 50,
  max_search_words: 10,
  /** Of what is searched for at the console; who wants to know how many there are, filters on. */
  most_counted: 10_000,
  /** No index of texts finds what is inside one by fewer characters. */
  shortest_indexed: 3,
} as const;

export const limits = {
  body_bytes: 1024 * 1024,
  /** Of objects and lists within each other. */
  json_levels: 32,
  /** Node's own HTTP server stops at 16 KiB of headers; a direct caller meets the same limit. */
  address_characters: 16 * 1024,
  /** Of ids that other deployments make. */
  id_characters: 200,
  /** Longer texts and paths would not fit the indexes of every engine that we store them in. */
  name_characters: 500,
  path_bytes: 2000,
  web_address_characters: 8192,
  /** Of an address with a short path of its own: it stands in an index, beside two ids. */
  shortened_query_characters: 2000,
  template_body_bytes: 65_536,
  template_css_bytes: 32_768,
  kept_template_versions: 20,
  /** For so long a person may approve of what they are asked. */
  approval_ms: 5 * 60_000,
  /** For so long an install may follow the visit that it is told of. */
  deferred_visit_ms: 10 * 60_000,
  /** For so long our own service can bring back what was deleted. */
  bin_days: 30,
} as const;
