/** Views of tools for clients that show some (MCP Apps, SEP-1865): HTML of ours in their frame. */

export const viewExtension = "io.modelcontextprotocol/ui";
export const viewType = "text/html;profile=mcp-app";

export const templateView = {
  uri: "ui://waypost/page-template",
  name: "page_template_view",
  title: "Preview page",
  description: "Shows a page template on iOS, Android and desktop.",
  mimeType: viewType,
} as const;
