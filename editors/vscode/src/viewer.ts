// Opens data files of collections and archives in the studio, whatever their size: the file itself is
// never read here.

import * as vscode from 'vscode'

import { Panel } from './panel'
import { collectionOf, gridOf } from './places'
import type { Studios } from './studio'

export class Viewer implements vscode.CustomReadonlyEditorProvider {
  constructor(
    readonly studios: Studios,
    readonly folder: string,
  ) {}

  openCustomDocument(uri: vscode.Uri): vscode.CustomDocument {
    return { uri, dispose() {} }
  }

  async resolveCustomEditor({ uri }: vscode.CustomDocument, panel: vscode.WebviewPanel): Promise<void> {
    const place = collectionOf(uri.fsPath)
    await Panel.show(panel, this.studios, place?.database ?? uri.fsPath, place ? gridOf(place.collection) : '#/', this.folder)
  }
}
