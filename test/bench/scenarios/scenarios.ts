import { measureHttpCalls, measurePostgresCalls, measureStdioCalls } from "./calls.ts";
import { measureClients } from "./clients.ts";
import { measureConsole } from "./console.ts";
import { measureCreates } from "./creates.ts";
import { measureCrowd } from "./crowd.ts";
import { measureImport } from "./import.ts";
import { measureJobs } from "./jobs.ts";
import { measureKills } from "./kills.ts";
import { measureLatency } from "./latency.ts";
import { measureLists } from "./lists.ts";
import { measureLongWork } from "./long-work.ts";
import { measurePlanning } from "./planning.ts";
import { measureCounting, measureMemory, measureRedirects } from "./redirects.ts";
import { measureRest } from "./rest.ts";
import { measureScaleCalls } from "./scale-calls.ts";
import { measureScaleLists } from "./scale-lists.ts";
import { measureScaleRedirects } from "./scale-redirects.ts";
import type { Scenario } from "./scenario.ts";
import { measureStart } from "./start.ts";
import { measurePostgresStatistics, measureStatistics } from "./statistics.ts";
import { measureTemplates } from "./templates.ts";
import { measureToldVisits } from "./told-visits.ts";

/** All that is measured, in the order in which it is. */
export const scenarios: readonly Scenario[] = [
  { name: "creates", rounds: 10, measure: measureCreates },
  { name: "latency", rounds: 10, measure: measureLatency },
  { name: "long-work", rounds: 5, measure: measureLongWork },
  { name: "stdio", rounds: 10, measure: measureStdioCalls },
  { name: "http", rounds: 5, measure: measureHttpCalls },
  { name: "http-postgres", rounds: 5, measure: measurePostgresCalls },
  { name: "start", rounds: 20, measure: measureStart },
  { name: "rest", rounds: 10, measure: measureRest },
  { name: "redirects", rounds: 10, measure: measureRedirects },
  { name: "counting", rounds: 10, measure: measureCounting },
  { name: "told-visits", rounds: 10, measure: measureToldVisits },
  { name: "jobs", rounds: 5, measure: measureJobs },
  { name: "clients", rounds: 3, measure: measureClients },
  { name: "memory", rounds: 1, measure: measureMemory },
  // What comes from here on leaves the large data folder with an index.
  { name: "lists", rounds: 1, measure: measureLists },
  { name: "console", rounds: 1, isAlone: true, measure: measureConsole },
  { name: "planning", rounds: 1, measure: measurePlanning },
  { name: "crowd", rounds: 1, measure: measureCrowd },
  { name: "statistics", rounds: 1, isAlone: true, measure: measureStatistics },
  { name: "statistics-postgres", rounds: 1, isAlone: true, measure: measurePostgresStatistics },
  { name: "templates", rounds: 1, isAlone: true, measure: measureTemplates },
  { name: "import", rounds: 1, isAlone: true, measure: measureImport },
  { name: "kills", rounds: 1, isAlone: true, measure: measureKills },
  { name: "scale-redirects", rounds: 1, isAlone: true, measure: measureScaleRedirects },
  { name: "scale-lists", rounds: 1, isAlone: true, measure: measureScaleLists },
  { name: "scale-calls", rounds: 1, isAlone: true, measure: measureScaleCalls },
];
