import { expect, test } from "vitest";
import { fillPlace } from "../../src/commands/copies/fill-place.ts";
import { copiedTables, listDatabases, withDatabases } from "../../src/compose/copied-databases.ts";
import { withEmbedded } from "../../src/compose/embedded.ts";
import { copyRows } from "../../src/copies/copy-rows.ts";
import { withSnapshots } from "../../src/copies/snapshots.ts";
import { createFolder } from "../support/command.ts";
import { staying } from "../support/rows.ts";

const tellNobody = () => undefined;

test("whether anybody writes is looked at last of all, when the copy was read back", async () => {
  await using from = await createFolder();
  await using to = await createFolder();
  const [source, place] = [{ data: from.path }, { data: to.path }];
  await withEmbedded(source, () => Promise.resolve());
  const names = listDatabases(source);
  const { signal } = new AbortController();
  let looks = 0;

  const copy = (mostLooks: number) => {
    looks = 0;
    const requireUnchanged = async () => {
      looks += 1;
      if (looks > mostLooks) throw new Error("somebody came");
    };
    return withDatabases(source, names, (databases) =>
      withSnapshots(databases, { signal: staying }, (snapshots) =>
        fillPlace({ place, names, secrets: [], signal }, (target) =>
          copyRows({ ...target, snapshots, requireUnchanged, follow: tellNobody, signal }),
        ),
      ),
    );
  };

  const tables = names.flatMap((name) => copiedTables[name].tables).length;
  await expect(copy(tables)).rejects.toThrow("somebody came");
  // Nothing is left of it.
  expect(await copy(Infinity)).toHaveLength(tables);
  expect(looks).toBe(tables + 1);
});
