/** A visit that an install may follow; of what tells a phone there are keyed hashes alone. */
export type DeferredVisitTable = {
  readonly project_id: string;
  readonly id: string;
  readonly link_id: string;
  /** What the visit's address added to the link. */
  readonly query: string;
  /** Null where it is not known. */
  readonly address: string | null;
  /** 1 for an address that many strangers share. */
  readonly is_shared: 0 | 1;
  /** Everything that was seen, as one. */
  readonly whole: string;
  /** Each mark, as JSON. */
  readonly marks: string;
  readonly ends_at: number;
  /** The install for which it was used, as a hash; null where that cannot ask again. */
  readonly used_by: string | null;
  /** What that was told, as JSON; null until it is used. */
  readonly told: string | null;
};

export type NotedVisit = Omit<DeferredVisitTable, "used_by" | "told">;
