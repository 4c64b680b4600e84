import type { RawBuilder, SqlBool } from "kysely";
import type { ListSource, Matched } from "../list-page.ts";
import type { Db, Tenant } from "../tenant.ts";

/** How links are found in large projects, as far as the engines differ. */
export type LinkSearch = {
  /** Which rows are the project's, in the form that leads the engine to its best way. */
  readonly describeRows: (
    projectId: string,
    found: {
      /** An index finds the rows by what is inside their texts. */
      readonly isFoundInside: boolean;
      /** No index helps. */
      readonly isScanned: boolean;
      /** The field that the list is in the order of. */
      readonly order: string | undefined;
    },
  ) => Pick<ListSource, "ownRows" | "ownRowsUnindexed" | "scannedBy" | "walkedBy">;
  /** The links of a project whose folded column has this text in it. */
  readonly matchContains: (
    projectId: string,
    column: IndexedColumn,
    folded: string,
  ) => RawBuilder<SqlBool> | undefined;
  /** The links of a project that all of these hold for, each where one of its texts is there. */
  readonly matchTogether: (
    projectId: string,
    all: readonly (readonly Inside[])[],
  ) => Matched | undefined;
  /** Decides on an index of one project's texts; the chore then fills it. */
  readonly createIndex: (tenant: Tenant) => Promise<void>;
  /** Indexes the next links in the order of their ids; true when none are left. */
  readonly indexBatch: (tenant: Tenant) => Promise<boolean>;
  /** Puts a written link into the index, when the index has come as far as this link. */
  readonly indexLink: IndexChange;
  /** Takes a link out of the index before it is changed or deleted. */
  readonly unindexLink: IndexChange;
  readonly dropIndex: (db: Db, projectId: string) => Promise<void>;
};

/** A folded text inside a column. */
export type Inside = { readonly column: IndexedColumn; readonly folded: string };

type IndexChange = (tenant: Tenant, id: string, indexedTo: string | null) => Promise<void>;

/** Greater than every UUID: the index is complete. */
export const wholeIndex = "~";

export const indexedColumns = ["name", "path", "shortened_path", "url", "social_title"] as const;
export type IndexedColumn = (typeof indexedColumns)[number];
