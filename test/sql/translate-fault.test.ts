import { expect, test } from "vitest";
import { Duplicate } from "../../src/sql/faults.ts";
import { translatePostgresFault } from "../../src/sql/postgres-faults.ts";

/** What a server says of a row that is there already, as PostgreSQL and Citus have said it. */

const detail = "Key (project_id, bundle_id)=(p, b) already exists.";
const constraint = "ios_apps_project_id_bundle_id_key";

test.each([
  ["PostgreSQL", { table: "ios_apps", message: `duplicate key value … "${constraint}"` }],
  [
    "the coordinator of Citus",
    { table: "ios_apps_102019", message: `duplicate key value … "${constraint}_102019"` },
  ],
  ["another machine of Citus", { message: `duplicate key value … "${constraint}_102019"` }],
  ["another machine, in its own language", { message: `doppelter … »${constraint}_102019«` }],
  ["another machine, of a primary key", { message: `duplicate … "ios_apps_pkey_102019"` }],
])("a duplicate of %s names its table and columns", (_, { message, ...told }) => {
  const error = Object.assign(new Error(message), { code: "23505", detail, ...told });
  const duplicate = translatePostgresFault(error);
  expect(duplicate).toBeInstanceOf(Duplicate);
  expect(duplicate).toMatchObject({ columns: ["ios_apps.project_id", "ios_apps.bundle_id"] });
});
