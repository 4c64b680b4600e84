/** Which fields of a list filter and sort, and what each condition means (link-services.md §2). */

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
export type Condition = (typeof conditions)[number];

/** Every kind of field has these: numbers and times are compared as they are printed. */
export function isTextual(condition: string): boolean {
  return condition === "cont" || condition === "start";
}

/** What a caller may say beside the API's own conditions. */
export type AskedCondition = Condition | "empty";
export const askedConditions: readonly AskedCondition[] = [...conditions, "empty"];

/** Values after they were read as their field's kind; null is "could not be read". */
export type TestValue = string | number | boolean | null | readonly (string | number | null)[];

/** One field held against one value. */
export type Test = {
  readonly field: string;
  readonly kind: FieldKind;
  readonly condition: Condition;
  readonly value: TestValue;
};

/** Several tests stand together for names such as `name_or_path_cont`. All filters must hold. */
export type Filter = { readonly join: "and" | "or"; readonly tests: readonly Test[] };

export type Sort = { readonly field: string; readonly direction: "asc" | "desc" };

export type ListQuery = {
  readonly page: number;
  readonly limit: number;
  readonly filters: readonly Filter[];
  readonly sorts: readonly Sort[];
  /** So many are counted at the most, and one more where there are more. */
  readonly count_to?: number | undefined;
};

/** The same as it was asked for. */
export type AskedList = ListQuery & {
  /** What of the filters is ours alone, by its names in `f`. */
  readonly applied: readonly string[];
  /** A text that is looked for in all that a person would name a link by. */
  readonly search: string | undefined;
};

/** One filter as a caller words it, before it becomes a parameter of the query. */
export type FilterInput = {
  readonly field: string;
  readonly condition: AskedCondition;
  readonly value: string | number | boolean | readonly (string | number)[];
};

/** In the API's own conditions: `empty` is what `present` says, the other way round. */
export type PlainFilter = FilterInput & { readonly condition: Condition };

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
  /** Only of lists that have fields of ours. */
  readonly search?: string | undefined;
  /** Our own service heeds it where the console asks, whose reader goes no further. */
  readonly count_to?: number | undefined;
};

/** Which links are meant. */
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
 * What only Waypost's own service filters by, in `f[…]`: in `q` the specification has such fields
 * ignored. An app's name is its bundle id or package where it has no other.
 */
export const ownLinkFilters = {
  url: "text",
  ios_fallback_url: "text",
  android_fallback_url: "text",
  referrer: "text",
  ios_app_name: "text",
  android_app_name: "text",
} as const satisfies FilterFields;

/** Waypost asks its own service by these fields, and offers them to no one. */
export const internalLinkFilters = { updated_at: "time" } as const satisfies FilterFields;

/** Whether a field of a list is one that only our own service filters by. */
export function isOwnField(
  list: { readonly own?: FilterFields } | undefined,
  field: string,
): boolean {
  if (list?.own === undefined) return false;
  return Object.hasOwn(list.own, field) || Object.hasOwn(internalLinkFilters, field);
}

/** The name in `f` of a text that is searched for; no field is called so. */
export const searchName = "search";

/** Of these fields there are no other values. */
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

/** Projects are paged and nothing else (api-spec.md, "Projects"). */
export const projectFilters = {} as const satisfies FilterFields;
