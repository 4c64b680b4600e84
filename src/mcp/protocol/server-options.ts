import type { Gate } from "../approval/gate.ts";
import type { Surface } from "../tool.ts";
import type { Toolbox } from "../toolbox.ts";

/** What an assistant is connected to: one key's tools, resources and prompts. */
export type ServerOptions = {
  readonly toolbox: Toolbox;
  readonly surface: Surface;
  readonly gate: Gate;
  readonly version: string;
  readonly report: (error: unknown) => string;
};
