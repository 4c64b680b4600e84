import { isDeepStrictEqual } from "node:util";
import { links, type Link } from "../../../src/contract/links.ts";
import type { JsonObject } from "../../../src/contract/json.ts";
import type { Answer } from "./misdeeds.ts";

/** What the service really did, recorded at the simulated network. */
export type Truth = {
  readonly links: ReadonlyMap<string, Link>;
  readonly writes: readonly Write[];
  /** The rows that the service refused, each with the number of writes at that time. */
  readonly refusals: ReadonlyMap<RowName, number>;
  readonly findAt: (path: string) => Link | undefined;
  readonly record: (act: UserWrite, answer: Answer) => void;
};

type UserWrite = {
  readonly method: string;
  /** The path without the prefix of the API. */
  readonly path: string;
  readonly row?: RowName | undefined;
};

/** A row of a plan. The undo has a plan and rows of its own. */
export type RowName = `${string} row ${number}`;

export type Write = {
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
      // Every other write of a link returns the link.
      const after = isDeletion ? undefined : (body as Link);
      const id = after?.id ?? path.replace("/links/", "");
      const before = known.get(id);
      writes.push({ order: writes.length, row, id, before, after });
      if (after === undefined) known.delete(id);
      else known.set(id, after);
    },
  };
}

/** The IDs of the project's apps by name. No name is ever reused. */
export type Apps = ReadonlyMap<string, string>;

/** Whether a link has every field of a row. Sent values are stored unchanged. */
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
  // A row has an app by one of these names.
  const { id, bundle_id, package_name } = wanted as Readonly<Record<string, string | undefined>>;
  return id ?? apps.get(bundle_id ?? package_name ?? "") ?? "no such app";
}

const material = Object.keys(links.show.response.shape).filter((field) => field !== "clicks");

/** Whether two states of a link are the same, except for its visits. */
export function isSameLink(one: JsonObject | undefined, other: JsonObject | undefined): boolean {
  return isDeepStrictEqual(pickMaterial(one), pickMaterial(other));
}

/** Like `isSameLink`, but for a link that was created again with a new ID. */
export function isAlike(one: JsonObject | undefined, other: JsonObject | undefined): boolean {
  return isSameLink(one && { ...one, id: "" }, other && { ...other, id: "" });
}

function pickMaterial(link: JsonObject | undefined): readonly unknown[] | undefined {
  return link && material.map((field) => link[field] ?? null);
}
