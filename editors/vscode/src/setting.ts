// The settings of the extension.

import * as vscode from 'vscode'

const all = () => vscode.workspace.getConfiguration('foliodb')

export const setting = {
  command: () => all().get('command', 'folio') || 'folio',
  database: () => all().get('database', ''),
  isWritable: () => vscode.workspace.isTrusted && all().get('allowWrite', false),
  allowWrite: () => all().update('allowWrite', true, vscode.ConfigurationTarget.Workspace),
}
