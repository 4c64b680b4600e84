/** The fields by which lists are filtered and sorted, and the filter conditions. */

export type FieldKind = "text" | "path" | "integer" | "time";
export type FilterFields = Readonly<Record<string, FieldKind>>;

export const conditions = [
  "eq",
  "not_eq",
  "in",
  "gt",
  "gteq",
  "lt",
  "lteq",
  "null",
  "present",
  "cont",
  "start",
] as const;
export type FilterCondition = (typeof conditions)[number];

/** Whether a condition compares text. Numbers and times are then compared as text too. */
export function isTextual(condition: string): boolean {
  return condition === "cont" || condition === "start";
}

/** `empty` is converted to `present` with the opposite value. */
export type OfferedCondition = FilterCondition | "empty";
export const offeredConditions: readonly OfferedCondition[] = [...conditions, "empty"];

/** The parsed value of a filter; null if it is invalid for the field. */
export type TestValue = string | number | boolean | null | readonly (string | number | null)[];

export type FieldTest = {
  readonly field: string;
  readonly kind: FieldKind;
  readonly condition: FilterCondition;
  readonly value: TestValue;
};

/** A filter can combine several tests, as in `name_or_path_cont`. A row must match every filter. */
export type Filter = { readonly join: "and" | "or"; readonly tests: readonly FieldTest[] };

export type Sort = { readonly field: string; readonly direction: "asc" | "desc" };

export type ListQuery = {
  readonly page: number;
  readonly limit: number;
  readonly filters: readonly Filter[];
  readonly sorts: readonly Sort[];
  /** Counting stops one row above this limit. */
  readonly count_to?: number | undefined;
};

/** A list query with the filters and the search that only Waypost supports. */
export type RequestedList = ListQuery & {
  /** The names in the request's `f[…]` parameters. */
  readonly applied: readonly string[];
  /** The text to search for in the fields that name or describe a link. */
  readonly search: string | undefined;
};

/** A filter as the caller writes it, before it becomes a query parameter. */
export type FilterInput = {
  readonly field: string;
  readonly condition: OfferedCondition;
  readonly value: string | number | boolean | readonly (string | number)[];
};

export type PlainFilter = FilterInput & { readonly condition: FilterCondition };

export function toPlainFilter({ condition, ...filter }: FilterInput): PlainFilter {
  if (condition !== "empty") return { ...filter, condition };
  const { value } = filter;
  return { ...filter, condition: "present", value: typeof value === "boolean" ? !value : value };
}

export type ListInput = {
  readonly page?: number | undefined;
  readonly limit?: number | undefined;
  readonly filters?: readonly FilterInput[] | undefined;
  readonly sort?: Sort | undefined;
  /** Only lists that accept `f[…]` parameters support search. */
  readonly search?: string | undefined;
  /**
   * Stops counting after this many rows. The service ignores this limit unless the console sends
   * it.
   */
  readonly count_to?: number | undefined;
};

export type LinkSelection = Pick<ListInput, "filters" | "search">;

export const linkFilters = {
  name: "text",
  path: "path",
  shortened_path: "path",
  clicks: "integer",
  created_at: "time",
  created_via: "text",
  ios_app_bundle_id: "text",
  android_app_package_name: "text",
} as const satisfies FilterFields;

/**
 * Other servers with this API cannot filter by these fields. They are sent as `f[…]` parameters,
 * and Waypost's response confirms that it applied them. If an app has no name, the name filters
 * match its bundle ID or package name.
 */
export const ownLinkFilters = {
  url: "text",
  ios_fallback_url: "text",
  android_fallback_url: "text",
  referrer: "text",
  ios_app_name: "text",
  android_app_name: "text",
} as const satisfies FilterFields;

export function isOwnField(
  list: { readonly own?: FilterFields } | undefined,
  field: string,
): boolean {
  return list?.own !== undefined && Object.hasOwn(list.own, field);
}

/** The name of the search parameter, `f[search]`. No filter field has this name. */
export const searchName = "search";

export const fieldValues: Readonly<Record<string, readonly string[]>> = {
  created_via: ["api", "console"],
};

export const iosAppFilters = {
  name: "text",
  bundle_id: "text",
  team_id: "text",
  clip_bundle_id: "text",
  custom_scheme: "text",
  created_at: "time",
} as const satisfies FilterFields;

export const androidAppFilters = {
  name: "text",
  package_name: "text",
  custom_scheme: "text",
  created_at: "time",
} as const satisfies FilterFields;

export const projectFilters = {} as const satisfies FilterFields;
