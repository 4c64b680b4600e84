import { clock, random } from "../../../src/compose/embedded.ts";
import { issueKey } from "../../../src/service/issue-key.ts";
import { makeProject } from "../../../src/service/write-project.ts";
import type { DataFile } from "./data-file.ts";

/** A project with so many keys that no budget is ever spent: 600 writes a minute each. */
export type Plot = {
  readonly projectId: string;
  readonly subdomain: string;
  readonly keys: readonly string[];
};

const maker = { clock, random };

export async function addPlot(
  file: Pick<DataFile, "write">,
  subdomain: string,
  keys = 250,
): Promise<Plot> {
  return file.write(async (db) => {
    const names = { name: subdomain, subdomain, custom_domain: null };
    const project = await makeProject(db, maker, names);
    const wanted = { project_id: project.id, scopes: [], role: "owner" } as const;
    const tokens: string[] = [];
    for (let turn = 0; turn < keys; turn += 1) {
      tokens.push((await issueKey(db, maker, wanted)).token);
    }
    return { projectId: project.id, subdomain, keys: tokens };
  });
}
