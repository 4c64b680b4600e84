import type { Filter, ListQuery } from "../contract/filters.ts";
import { addressField } from "../contract/rules/read-search.ts";
import { fold } from "../contract/text.ts";
import { indexedColumns, type IndexedColumn, type Inside } from "./engines/link-search.ts";
import {
  isFoundInside,
  isServedByIndex,
  type AppColumn,
  type Columns,
  type TextColumn,
} from "./filters.ts";
import type { ListSource } from "./list-page.ts";
import { describeNumber, describeTime } from "./plain-columns.ts";
import type { AppKind, FoldedLink, LinkTable } from "./tables.ts";
import type { Tenant } from "./tenant.ts";
import { findSearch } from "./trigram-index.ts";

/** What links are filtered and searched by, and in which columns that stands. */

/** A list of a project's links. */
export function describeLinks(
  { db, projectId }: Tenant,
  { filters, sorts, count_to }: ListQuery,
  isIndexed: boolean,
): Omit<ListSource, "shown"> {
  const search = findSearch(db);
  const text = (column: IndexedColumn, isNullable = true): TextColumn => ({
    ...describeText(column, isNullable),
    contains: (folded) => (isIndexed ? search.matchContains(projectId, column, folded) : undefined),
  });
  const columns: Columns = {
    name: text("name"),
    path: text("path", false),
    shortened_path: text("shortened_path"),
    url: { ...text("url"), isUnsorted: true },
    social_title: { ...text("social_title"), isUnsorted: true },
    ios_fallback_url: { ...describeText("ios_fallback_url"), isUnsorted: true },
    android_fallback_url: { ...describeText("android_fallback_url"), isUnsorted: true },
    referrer: { ...describeText("referrer"), isUnsorted: true },
    [addressField]: { addressesOf: projectId, key: "links.id" },
    clicks: describeNumber("links.clicks"),
    created_at: describeTime(db, "links.created_at"),
    updated_at: describeTime(db, "links.updated_at"),
    created_via: { ...created_via, isNullable: false, isUnsorted: true },
    ios_app_bundle_id: appText(projectId, "ios_app", "bundle_id"),
    android_app_package_name: appText(projectId, "android_app", "package_name"),
    ios_app_name: appName(projectId, "ios_app", "bundle_id"),
    android_app_name: appName(projectId, "android_app", "package_name"),
  };
  const found = {
    isFoundInside: filters.some((filter) => isFoundInside(filter, columns)),
    order: sorts.length === 0 ? "created_at" : sorts[0]?.field,
    isScanned: filters.length > 0 && filters.every((one) => !isServedByIndex(one, columns)),
  };
  // It does not end where nobody waits any more, and is for those alone who count no further.
  const together = isIndexed && count_to !== undefined ? readTogether(filters) : undefined;
  const matched = together && search.matchTogether(projectId, together);
  return { table: "links", columns, matched, ...search.describeRows(projectId, found) };
}

/** Undefined where a filter is about something else than what stands inside the indexed texts. */
function readTogether(filters: readonly Filter[]): readonly (readonly Inside[])[] | undefined {
  const read = filters.map(({ join, tests }) => {
    if (join === "and" && tests.length > 1) return undefined;
    const inside = tests.map(({ field, condition, value }) => {
      const column = indexedColumns.find((each) => each === field);
      const isInside = column !== undefined && condition === "cont" && typeof value === "string";
      return isInside ? { column, folded: fold(value) } : undefined;
    });
    const known = inside.filter((one) => one !== undefined);
    return known.length === inside.length ? known : undefined;
  });
  const known = read.filter((one) => one !== undefined);
  return known.length === read.length && known.length > 0 ? known : undefined;
}

const created_via = { column: "links.created_via", folded: "links.created_via" };

function describeText(column: SearchedColumn, isNullable = true): TextColumn {
  return { column: `links.${column}`, folded: `links.${column}_lc`, isNullable };
}

function appText(projectId: string, app: AppKind, field: string): AppColumn {
  return {
    app: { table: `${app}s`, projectId },
    key: `links.${app}_id`,
    text: { column: field, folded: `${field}_lc`, isNullable: false },
  };
}

/** An app without a name is called by its identifier. */
function appName(projectId: string, app: AppKind, identifier: string): AppColumn {
  const text = { column: "name", folded: "name_lc", isNullable: true };
  const named = appText(projectId, app, identifier);
  return { ...named, text, otherwise: named.text };
}

/** The folded text of each of these that is there; one that is not changed stays away. */
export function foldLink(link: SearchedTexts): FoldedLink;
export function foldLink(link: Partial<SearchedTexts>): Partial<FoldedLink>;
export function foldLink(link: Partial<SearchedTexts>): Partial<FoldedLink> {
  const folded: Record<string, string | null | undefined> = {};
  for (const column of searchedColumns) {
    const text = link[column];
    folded[`${column}_lc`] = typeof text === "string" ? fold(text) : text;
  }
  return folded;
}

const searchedColumns = [
  ...indexedColumns,
  "ios_fallback_url",
  "android_fallback_url",
  "referrer",
] as const satisfies readonly (keyof LinkTable)[];
type SearchedColumn = (typeof searchedColumns)[number];
type SearchedTexts = Pick<LinkTable, SearchedColumn>;
