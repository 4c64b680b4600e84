import type { Contract } from "../../../contract/index.ts";

/** For the model that chooses: what a tool does, when to use it and when not. */

type ToolOf<Group> = {
  [Name in keyof Group]: Group[Name] extends { readonly hidden: true }
    ? never
    : Group[Name] extends { readonly tool: infer Tool extends string }
      ? Tool
      : never;
}[keyof Group];

/** Every tool of the contract: one without a text does not compile. */
export type EndpointTool = { [Name in keyof Contract]: ToolOf<Contract[Name]> }[keyof Contract];

export const descriptions: Readonly<Record<EndpointTool, string>> = {
  list_links: "List links, filtered, sorted and paged.",
  get_link: "Read one link.",
  create_link: "Create a link. Fails if the path is taken.",
  upsert_link: "Create a link, or overwrite the given fields of the one at this path.",
  update_link:
    "Change the given fields of a link. An empty string clears one. For many links, make a plan.",
  delete_link:
    "Delete a link. An embedded server keeps it 30 days. To redirect it, change its url.",
  shorten_link:
    "Make a short path for a link's address and query (irreversible) or any web address. " +
    "Needs the Pro plan.",
  resolve_short_link: "Find the link at a short or full address. Needs no key.",
  list_ios_apps: "List the iOS apps.",
  get_ios_app: "Read one iOS app.",
  register_ios_app: "Register an iOS app so links can open it.",
  update_ios_app: "Change an iOS app's fields. All but the name need approval.",
  delete_ios_app: "Delete an iOS app. Its links stay but stop opening it.",
  list_android_apps: "List the Android apps.",
  get_android_app: "Read one Android app.",
  register_android_app: "Register an Android app so links can open it.",
  update_android_app: "Change an Android app's fields. All but the name need approval.",
  delete_android_app: "Delete an Android app. Its links stay but stop opening it.",
  list_projects: "List the projects. Needs a master key.",
  get_project: "Read one project. Needs a master key.",
  create_project: "Create a project with its own link host. Needs a master key.",
  update_project: "Change a project. A new domain needs approval. Needs a master key.",
  delete_project: "Permanently delete a project, its links, apps and keys. Needs a master key.",
  save_template: "Save the draft of the page template. Visitors see it only when published.",
  publish_template:
    "Publish the draft to all preview pages. body and css, if given, are saved first.",
  unpublish_template: "Return all links to the default preview page. Draft and versions stay.",
  list_template_versions: "List the page template's published versions, newest first.",
  get_template_version: "Read a version's body and css.",
  restore_template_version: "Replace the draft with a published version. Publishes nothing.",
  preview_template:
    "Make a preview page of body and css, or of the draft: show the user its preview_url.",
};
