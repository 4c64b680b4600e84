import { makeDataFile } from "../ground/data-file.ts";
import { seedPlot } from "../ground/ground.ts";
import { addPlot, type Plot } from "../ground/plots.ts";
import { makePostgresGround } from "../ground/postgres-ground.ts";
import { serve, type Server } from "../servers/http-server.ts";
import type { Build } from "../builds.ts";
import type { Db } from "../../../src/store/tenant.ts";
import { createVisit } from "./redirects.ts";

/** The same small store on each engine. */
export type Place = {
  readonly engine: "SQLite" | "PostgreSQL";
  readonly serve: () => Promise<Server>;
  readonly plot: Plot;
  readonly links: readonly Link[];
  readonly addPlot: (subdomain: string, keys: number) => Promise<Plot>;
};

type Link = { readonly id: string; readonly path: string };

type Places = {
  readonly places: readonly [sqlite: Place, postgres: Place];
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

const links = 5000;

export async function openPlaces(build: Build): Promise<Places> {
  const file = await makeDataFile(build);
  const postgres = await makePostgresGround(build);
  const ofFile = await addPlot(file, "small");
  await seedPlot(file, ofFile, links);
  const ofDatabase = await postgres.addPlot("small");
  await postgres.seed(ofDatabase, links);
  const sqlite: Place = {
    engine: "SQLite",
    serve: () => serve(build, file.folder),
    plot: ofFile,
    links: await readLinks(file.db, ofFile),
    addPlot: (subdomain, keys) => addPlot(file, subdomain, keys),
  };
  const other: Place = {
    engine: "PostgreSQL",
    serve: () => serve(build, postgres.folder, postgres.words),
    plot: ofDatabase,
    links: await readLinks(postgres.file.db, ofDatabase),
    addPlot: postgres.addPlot,
  };
  return {
    places: [sqlite, other],
    [Symbol.asyncDispose]: async () => {
      await postgres[Symbol.asyncDispose]();
      await file[Symbol.asyncDispose]();
    },
  };
}

function readLinks(db: Db, { projectId }: Plot): Promise<readonly Link[]> {
  return (
    db
      .selectFrom("links")
      .select(["id", "path"])
      .where("project_id", "=", projectId)
      // What opens an app in between is a page, and not a redirect.
      .orderBy("path")
      .execute()
  );
}

/** Visits of so many links, in turns. */
export function writeVisits(server: Server, { plot, links }: Place, count: number) {
  const visit = createVisit(server, plot.subdomain);
  return links.slice(0, count).map(({ path }) => visit(path));
}
