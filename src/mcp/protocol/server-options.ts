import type { KeyContext } from "../access/key-context.ts";
import type { ApproveOverwrite } from "../approval/approve-overwrite.ts";
import type { RequireApproval } from "../approval/require-approval.ts";
import type { Toolbox } from "../tools/toolbox.ts";

/** What an assistant is connected to: one key's tools, resources and prompts. */
export type ServerOptions = {
  readonly toolbox: Toolbox;
  readonly keyContext: KeyContext;
  readonly requireApproval: RequireApproval;
  readonly approveOverwrite: ApproveOverwrite;
  readonly version: string;
  readonly report: (error: unknown) => string;
};
