import { expect, test } from "vitest";
import { Duplicate } from "../../src/sql/faults.ts";
import { translatePostgresFault } from "../../src/sql/postgres-faults.ts";

test("a violated unique key of PostgreSQL is reported with its table and columns", () => {
  const error = Object.assign(new Error("duplicate key value violates a unique constraint"), {
    code: "23505",
    detail: "Key (project_id, bundle_id)=(p, b) already exists.",
    table: "ios_apps",
  });
  const duplicate = translatePostgresFault(error);
  expect(duplicate).toBeInstanceOf(Duplicate);
  expect(duplicate).toMatchObject({ columns: ["ios_apps.project_id", "ios_apps.bundle_id"] });
});
