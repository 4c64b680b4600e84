import { isDeepStrictEqual } from "node:util";
import { links, type Link } from "../../../src/contract/links.ts";
import type { JsonObject } from "../../../src/contract/json.ts";
import type { Answer } from "./misdeeds.ts";

/** What the service has really carried out, seen at its door, whoever asked and was told what. */
export type Truth = {
  /** Every link as it is now, by its id, in the order in which they were made. */
  readonly links: ReadonlyMap<string, Link>;
  readonly writes: readonly Write[];
  /** The rows that the service has refused, each with how much had been written by then. */
  readonly refusals: ReadonlyMap<RowName, number>;
  readonly findAt: (path: string) => Link | undefined;
  readonly record: (act: Act, answer: Answer) => void;
};

type Act = {
  readonly method: string;
  /** Below the API's prefix. */
  readonly path: string;
  /** Left out for somebody else's act. */
  readonly row?: RowName | undefined;
};

/** A row of one of the plans: those of the undoing are others than those of the doing. */
export type RowName = `${string} row ${number}`;

export type Write = {
  /** In what order it was carried out. */
  readonly order: number;
  readonly row: RowName | undefined;
  readonly id: string;
  readonly before: Link | undefined;
  readonly after: Link | undefined;
};

export function createTruth(): Truth {
  const known = new Map<string, Link>();
  const writes: Write[] = [];
  const refusals = new Map<RowName, number>();
  return {
    links: known,
    writes,
    refusals,
    findAt: (path) => [...known.values()].find((link) => link.path === path),
    record: ({ method, path, row }, { status, body }) => {
      const isLinkWrite = method !== "GET" && path.startsWith("/links");
      if (!isLinkWrite) return;
      if (status >= 300) {
        if (row !== undefined) refusals.set(row, writes.length);
        return;
      }
      const isDeletion = method === "DELETE";
      // Whatever else writes a link answers the link.
      const after = isDeletion ? undefined : (body as Link);
      const id = after?.id ?? path.replace("/links/", "");
      const before = known.get(id);
      writes.push({ order: writes.length, row, id, before, after });
      if (after === undefined) known.delete(id);
      else known.set(id, after);
    },
  };
}

/** The apps of the project by their names; no name is ever given to another app. */
export type Apps = ReadonlyMap<string, string>;

/** Whether a link has every field as a row wants it. What rows send is stored as it stands. */
export function isAsPlanned(link: Link, fields: JsonObject, apps: Apps): boolean {
  return Object.entries(fields).every(([field, wanted]) => {
    if (field === "ios_app" || field === "android_app") {
      return link[`${field}_id`] === findApp(wanted, apps);
    }
    return (link[field] ?? null) === (wanted === "" ? null : wanted);
  });
}

function findApp(wanted: unknown, apps: Apps): string | null {
  if (wanted === null) return null;
  // Rows name an app by one of these.
  const { id, bundle_id, package_name } = wanted as Readonly<Record<string, string | undefined>>;
  return id ?? apps.get(bundle_id ?? package_name ?? "") ?? "no such app";
}

const material = Object.keys(links.show.response.shape).filter((field) => field !== "clicks");

/** Whether a link is what it was, visits apart. */
export function isSameLink(one: JsonObject | undefined, other: JsonObject | undefined): boolean {
  return isDeepStrictEqual(pickMaterial(one), pickMaterial(other));
}

/** As `isSameLink`, for one that had to be made anew. */
export function isAlike(one: JsonObject | undefined, other: JsonObject | undefined): boolean {
  return isSameLink(one && { ...one, id: "" }, other && { ...other, id: "" });
}

function pickMaterial(link: JsonObject | undefined): readonly unknown[] | undefined {
  return link && material.map((field) => link[field] ?? null);
}
